package calc

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// manyArguments bounds min and max; the node limit is reached before.
const manyArguments = maxNodes

type function struct {
	min, max int
	run      func(args []value) (value, error)
}

func (f function) arity() string {
	switch {
	case f.max == manyArguments:
		return fmt.Sprintf("%d or more arguments", f.min)
	case f.min != f.max:
		return fmt.Sprintf("%d or %d arguments", f.min, f.max)
	case f.min == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.min)
}

func functions() map[string]function {
	return map[string]function{
		"sqrt":  {1, 1, squareRoot},
		"abs":   {1, 1, absolute},
		"round": {1, 2, round},
		"floor": {1, 1, func(a []value) (value, error) { return whole(a[0], floorInt) }},
		"ceil":  {1, 1, func(a []value) (value, error) { return whole(a[0], ceilInt) }},
		"min":   {1, manyArguments, func(a []value) (value, error) { return pick(a, -1), nil }},
		"max":   {1, manyArguments, func(a []value) (value, error) { return pick(a, 1), nil }},
		"log":   {1, 1, logarithm(math.Log10)},
		"ln":    {1, 1, logarithm(math.Log)},
		"exp":   {1, 1, func(a []value) (value, error) { return exponential(a[0]) }},
		"sin":   {1, 1, func(a []value) (value, error) { return inexact(trig(math.Sin, a[0].number())) }},
		"cos":   {1, 1, func(a []value) (value, error) { return inexact(trig(math.Cos, a[0].number())) }},
		"tan":   {1, 1, tangent},
	}
}

func operators() map[string]func(a, b value) (value, error) {
	return map[string]func(a, b value) (value, error){
		"+":  arithmetic((*big.Rat).Add, func(x, y float64) float64 { return x + y }),
		"-":  arithmetic((*big.Rat).Sub, func(x, y float64) float64 { return x - y }),
		"*":  arithmetic((*big.Rat).Mul, func(x, y float64) float64 { return x * y }),
		"/":  divide,
		"%":  remainder,
		"^":  power,
		"**": power,
	}
}

func arithmetic(rational func(z, x, y *big.Rat) *big.Rat, float func(x, y float64) float64) func(a, b value) (value, error) {
	return func(a, b value) (value, error) {
		if a.rat != nil && b.rat != nil {
			return exact(rational(new(big.Rat), a.rat, b.rat))
		}
		return inexact(float(a.number(), b.number()))
	}
}

func divide(a, b value) (value, error) {
	if b.isZero() {
		return value{}, errors.New("division by zero")
	}
	return arithmetic((*big.Rat).Quo, func(x, y float64) float64 { return x / y })(a, b)
}

// remainder has the sign of its left side, as in Go and C.
func remainder(a, b value) (value, error) {
	if b.isZero() {
		return value{}, errors.New("division by zero")
	}
	if a.rat == nil || b.rat == nil {
		return inexact(math.Mod(a.number(), b.number()))
	}
	quotient := new(big.Rat).Quo(a.rat, b.rat)
	truncated := new(big.Int).Quo(quotient.Num(), quotient.Denom())
	product := new(big.Rat).Mul(new(big.Rat).SetInt(truncated), b.rat)
	return exact(product.Sub(a.rat, product))
}

func power(a, b value) (value, error) {
	n, isInt := b.integer()
	if a.isZero() && compare(b, value{rat: new(big.Rat)}) < 0 {
		return value{}, errors.New("division by zero")
	}
	if a.rat != nil && isInt && powerFits(a.rat, n) {
		return exact(ratPower(a.rat, n))
	}
	return inexact(math.Pow(a.number(), b.number()))
}

// powerFits says whether r^n can be worked out within the size limit, before
// any work is done.
func powerFits(r *big.Rat, n int) bool {
	bits := max(r.Num().BitLen(), r.Denom().BitLen())
	if bits <= 1 { // 0, 1 and -1
		return true
	}
	if n < 0 {
		n = -n
	}
	return n >= 0 && n <= maxBits/(bits-1) && (bits-1)*n <= maxBits
}

func ratPower(r *big.Rat, n int) *big.Rat {
	num, denom := r.Num(), r.Denom()
	if n < 0 {
		num, denom = denom, num
	}
	// 1 and -1 only need the parity, and n may be huge.
	exponent := new(big.Int).Abs(big.NewInt(int64(n)))
	if r.Num().BitLen() <= 1 && r.IsInt() {
		exponent.And(exponent, big.NewInt(1))
		if n != 0 && exponent.Sign() == 0 {
			exponent.SetInt64(2)
		}
	}
	return new(big.Rat).SetFrac(new(big.Int).Exp(num, exponent, nil), new(big.Int).Exp(denom, exponent, nil))
}

func squareRoot(a []value) (value, error) {
	v := a[0]
	if compare(v, value{rat: new(big.Rat)}) < 0 {
		return value{}, errors.New("the square root of a negative number is not a real number")
	}
	if v.rat != nil {
		num := new(big.Int).Sqrt(v.rat.Num())
		denom := new(big.Int).Sqrt(v.rat.Denom())
		root := new(big.Rat).SetFrac(num, denom)
		if new(big.Rat).Mul(root, root).Cmp(v.rat) == 0 {
			return exact(root)
		}
	}
	return inexact(math.Sqrt(v.number()))
}

func absolute(a []value) (value, error) {
	if compare(a[0], value{rat: new(big.Rat)}) < 0 {
		return a[0].neg(), nil
	}
	return a[0], nil
}

// round rounds half away from zero, as people do with money.
func round(a []value) (value, error) {
	digits := 0
	if len(a) == 2 {
		n, ok := a[1].integer()
		if !ok || n < -maxDigits || n > maxDigits {
			return value{}, fmt.Errorf("the second argument of round is a whole number of decimals, %d at most", maxDigits)
		}
		digits = n
	}
	scale := ratPower(big.NewRat(10, 1), digits)
	scaled := new(big.Rat).Mul(a[0].decimal(), scale)
	half := big.NewRat(1, 2)
	if scaled.Sign() < 0 {
		half.Neg(half)
	}
	scaled.Add(scaled, half)
	rounded := new(big.Rat).SetInt(new(big.Int).Quo(scaled.Num(), scaled.Denom()))
	return exact(rounded.Quo(rounded, scale))
}

func whole(v value, toInt func(*big.Rat) *big.Int) (value, error) {
	return exact(new(big.Rat).SetInt(toInt(v.decimal())))
}

// floorInt relies on big.Int.Div rounding down for a positive divisor.
func floorInt(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceilInt(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floorInt(new(big.Rat).Neg(r)))
}

func pick(args []value, sign int) value {
	best := args[0]
	for _, v := range args[1:] {
		if compare(v, best) == sign {
			best = v
		}
	}
	return best
}

func logarithm(log func(float64) float64) func(a []value) (value, error) {
	return func(a []value) (value, error) {
		if compare(a[0], value{rat: new(big.Rat)}) <= 0 {
			return value{}, errors.New("the logarithm is only defined for numbers above zero")
		}
		return inexact(log(a[0].number()))
	}
}

func exponential(v value) (value, error) {
	if v.isZero() {
		return exact(big.NewRat(1, 1))
	}
	return inexact(math.Exp(v.number()))
}

// trig snaps what is zero but for the rounding of pi to zero.
func trig(f func(float64) float64, x float64) float64 {
	y := f(x)
	if math.Abs(x) > 1 && math.Abs(y) < 1e-15*math.Abs(x) {
		return 0
	}
	return y
}

func tangent(a []value) (value, error) {
	x := a[0].number()
	if trig(math.Cos, x) == 0 {
		return value{}, errors.New("the tangent is not defined here")
	}
	return inexact(trig(math.Tan, x))
}
