package calc

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

const (
	maxLength = 2000 // runes of an expression
	maxNodes  = 500  // nodes of its tree
)

// Eval returns the value of an arithmetic expression as decimal text.
func Eval(expression string) (string, error) {
	source, err := normalise(expression)
	if err != nil {
		return "", err
	}
	tree, err := parser.ParseWithConfig(source, closedConfig())
	if err != nil {
		return "", syntaxError(err)
	}
	v, err := evaluator{source: source}.eval(tree.Node)
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// closedConfig switches every builtin of expr-lang off, so that abs, max and
// the like arrive as plain calls and get the meaning this package gives them.
func closedConfig() *conf.Config {
	c := conf.CreateNew()
	c.MaxNodes = maxNodes
	for _, f := range builtin.Builtins {
		c.Disabled[f.Name] = true
	}
	return c
}

// normalise checks what expr-lang would misread and rewrites what people and
// models write for the same thing.
func normalise(expression string) (string, error) {
	if len(expression) > maxLength {
		return "", fmt.Errorf("the expression is too long: at most %d characters", maxLength)
	}
	s := strings.NewReplacer("×", "*", "·", "*", "÷", "/", "−", "-", "–", "-",
		"（", "(", "）", ")", "，", ",", "π", "pi").Replace(expression)
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "="))
	if s == "" {
		return "", errors.New("the expression is empty: write one such as 12*7")
	}
	for _, r := range s {
		if r > unicode.MaxASCII {
			return "", fmt.Errorf("unexpected character %q: use numbers, + - * / %% ^ ( ) and functions", r)
		}
	}
	// expr-lang takes these for comments and would silently drop the rest.
	for _, comment := range []string{"//", "/*"} {
		if strings.Contains(s, comment) {
			return "", fmt.Errorf("unexpected %q: use floor(a / b) for whole division", comment)
		}
	}
	return widenIntegers(s), nil
}

// syntaxError keeps expr-lang's message and position and drops its drawing.
func syntaxError(err error) error {
	var fe *file.Error
	if errors.As(err, &fe) {
		if strings.Contains(fe.Message, " literal: ") { // followed by strconv's words and the whole number
			return fmt.Errorf("a number before character %d is too large", fe.From+1)
		}
		hint := ""
		if strings.HasPrefix(fe.Message, `unexpected token Bracket("(")`) {
			hint = ": write * between factors, as in 2*(3+4)"
		}
		return fmt.Errorf("cannot read the expression: %s at character %d%s", fe.Message, fe.From+1, hint)
	}
	return fmt.Errorf("cannot read the expression: %w", err)
}

type evaluator struct {
	source string // literals are read from here, since expr-lang rounds them to float64
}

func (e evaluator) eval(node ast.Node) (value, error) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return e.literal(n.Location())
	case *ast.FloatNode:
		return e.literal(n.Location())
	case *ast.IdentifierNode:
		return constant(n.Value)
	case *ast.UnaryNode:
		return e.unary(n)
	case *ast.BinaryNode:
		return e.binary(n)
	case *ast.CallNode:
		return e.call(n)
	case *ast.BuiltinNode:
		return value{}, unknownFunction(n.Name)
	}
	return value{}, errors.New("only numbers, + - * / % ^ ( ) and the listed functions can be used")
}

func (e evaluator) literal(at file.Location) (value, error) {
	if at.From < 0 || at.To > len(e.source) || at.From >= at.To {
		return value{}, errors.New("cannot read a number of the expression")
	}
	return parseLiteral(e.source[at.From:at.To])
}

func (e evaluator) unary(n *ast.UnaryNode) (value, error) {
	if n.Operator != "-" && n.Operator != "+" {
		return value{}, fmt.Errorf("the operator %q is not available: use + - * / %% ^", n.Operator)
	}
	v, err := e.eval(n.Node)
	if err != nil || n.Operator == "+" {
		return v, err
	}
	return v.neg(), nil
}

func (e evaluator) binary(n *ast.BinaryNode) (value, error) {
	op, ok := operators()[n.Operator]
	if !ok {
		return value{}, fmt.Errorf("the operator %q is not available: use + - * / %% ^", n.Operator)
	}
	left, err := e.eval(n.Left)
	if err != nil {
		return value{}, err
	}
	right, err := e.eval(n.Right)
	if err != nil {
		return value{}, err
	}
	return op(left, right)
}

func (e evaluator) call(n *ast.CallNode) (value, error) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return value{}, errors.New("write * between factors: 2*(3+4)")
	}
	fn, ok := functions()[callee.Value]
	if !ok {
		return value{}, unknownFunction(callee.Value)
	}
	if len(n.Arguments) < fn.min || len(n.Arguments) > fn.max {
		return value{}, fmt.Errorf("%s takes %s, not %d", callee.Value, fn.arity(), len(n.Arguments))
	}
	args := make([]value, len(n.Arguments))
	for i, a := range n.Arguments {
		v, err := e.eval(a)
		if err != nil {
			return value{}, err
		}
		args[i] = v
	}
	return fn.run(args)
}

func constant(name string) (value, error) {
	switch name {
	case "pi":
		return inexact(math.Pi)
	case "e":
		return inexact(math.E)
	}
	if _, ok := functions()[name]; ok {
		return value{}, fmt.Errorf("%s is a function: write %s(...)", name, name)
	}
	return value{}, fmt.Errorf("unknown name %q: only pi and e are known", name)
}

func unknownFunction(name string) error {
	return fmt.Errorf("unknown function %q: known are sqrt abs round floor ceil min max log ln exp sin cos tan", name)
}
