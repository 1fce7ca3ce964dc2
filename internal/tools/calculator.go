package tools

import (
	"context"
	_ "embed"

	"picobot/internal/tools/calc"
)

//go:embed calculator.md
var calculatorDescription string

type calculatorArgs struct {
	Expression string `json:"expression" jsonschema:"the expression, such as 12*7 or round(19.99*1.08, 2)"`
}

// Calculator is the tool calculator.
func Calculator() Tool {
	return New(Spec[calculatorArgs]{
		Name:        "calculator",
		Description: calculatorDescription,
		Effect:      ReadOnly,
		Summary:     func(a calculatorArgs) string { return a.Expression },
	}, func(_ context.Context, _ Call, a calculatorArgs) (string, error) {
		return calc.Eval(a.Expression)
	})
}
