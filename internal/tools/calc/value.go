package calc

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxBits     = 1 << 13 // of a numerator or denominator; larger numbers become floats
	maxExponent = 400     // of a literal
	maxDigits   = 30      // significant digits of a fraction printed in full
	floatDigits = 15      // what a float64 can be trusted for
)

// value is a number: a fraction while everything so far was rational, a float64
// from the first irrational step on.
type value struct {
	rat   *big.Rat // nil = inexact
	float float64
}

func exact(r *big.Rat) (value, error) {
	if r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits {
		return value{rat: r}, nil
	}
	return inexact(ratFloat(r))
}

func inexact(f float64) (value, error) {
	switch {
	case math.IsNaN(f):
		return value{}, errors.New("the result is not a real number")
	case math.IsInf(f, 0):
		return value{}, errors.New("the result is too large")
	}
	return value{float: f}, nil
}

func (v value) number() float64 {
	if v.rat == nil {
		return v.float
	}
	return ratFloat(v.rat)
}

func ratFloat(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func (v value) isZero() bool {
	if v.rat != nil {
		return v.rat.Sign() == 0
	}
	return v.float == 0
}

func (v value) neg() value {
	if v.rat != nil {
		return value{rat: new(big.Rat).Neg(v.rat)}
	}
	return value{float: -v.float}
}

// integer returns v as a whole number that fits an int.
func (v value) integer() (int, bool) {
	if v.rat == nil || !v.rat.IsInt() || !v.rat.Num().IsInt64() {
		return 0, false
	}
	n := v.rat.Num().Int64()
	return int(n), int64(int(n)) == n
}

// decimal returns v as a fraction. A float is taken for the decimal it prints
// as, so that rounding sees 2.675 and not the binary number just below it.
func (v value) decimal() *big.Rat {
	if v.rat != nil {
		return v.rat
	}
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(v.float, 'e', floatDigits-1, 64))
	return r
}

func compare(a, b value) int {
	if a.rat != nil && b.rat != nil {
		return a.rat.Cmp(b.rat)
	}
	x, y := a.number(), b.number()
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// String prints whole numbers and short decimals in full and everything else
// rounded to 15 significant digits.
func (v value) String() string {
	if v.rat == nil {
		return significant(strconv.FormatFloat(v.float, 'e', floatDigits-1, 64))
	}
	if v.rat.IsInt() {
		return v.rat.Num().String()
	}
	if decimals, finite := v.rat.FloatPrec(); finite {
		s := v.rat.FloatString(decimals)
		if len(strings.TrimLeft(s, "-0.")) <= maxDigits+1 && decimals <= maxDigits {
			return s
		}
	}
	return significant(new(big.Float).SetPrec(128).SetRat(v.rat).Text('e', floatDigits-1))
}

// significant rewrites d.ddde±xx without trailing zeros, and without exponent
// while all digits before the point are known.
func significant(scientific string) string {
	mantissa, exponent, _ := strings.Cut(scientific, "e")
	exp, _ := strconv.Atoi(exponent)
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	}
	digits := strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0")
	switch {
	case digits == "":
		return "0"
	case exp < -7 || exp >= floatDigits:
		if len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		return fmt.Sprintf("%s%se%+d", sign, digits, exp)
	case exp < 0:
		return sign + "0." + strings.Repeat("0", -exp-1) + digits
	case len(digits) <= exp+1:
		return sign + digits + strings.Repeat("0", exp+1-len(digits))
	}
	return sign + digits[:exp+1] + "." + digits[exp+1:]
}

// wideInteger finds numbers; those of more than 18 digits overflow expr-lang's
// int64 unless they are written with a point.
var wideInteger = regexp.MustCompile(`[0-9A-Za-z_.]+`)

func widenIntegers(s string) string {
	return wideInteger.ReplaceAllStringFunc(s, func(word string) string {
		if len(word) > 18 && strings.Trim(word, "0123456789_") == "" {
			return word + ".0"
		}
		return word
	})
}

func parseLiteral(text string) (value, error) {
	s := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	if len(s) > 1 && s[0] == '0' && strings.ContainsRune("xob", rune(s[1])) {
		n, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return value{}, fmt.Errorf("cannot read the number %q", text)
		}
		return exact(new(big.Rat).SetInt(n))
	}
	if _, exponent, ok := strings.Cut(s, "e"); ok {
		// Without this bound 1e-999999999 would be a number of a billion digits.
		if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
			return value{}, fmt.Errorf("the exponent of %q is out of range: at most %d", text, maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return value{}, fmt.Errorf("cannot read the number %q", text)
	}
	return exact(r)
}
