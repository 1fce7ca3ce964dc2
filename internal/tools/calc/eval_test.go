package calc_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/tools/calc"
)

func TestEvalGivesTheRightAnswer(t *testing.T) {
	for expression, want := range map[string]string{
		"12*7":                                  "84",
		"0.1+0.2":                               "0.3",
		"19.99*3":                               "59.97",
		"1/8":                                   "0.125",
		"1/3":                                   "0.333333333333333",
		"2/3":                                   "0.666666666666667",
		"100/3":                                 "33.3333333333333",
		"10/5":                                  "2",
		"1/3*3":                                 "1",
		"2^10":                                  "1024",
		"2^100":                                 "1267650600228229401496703205376",
		"2**3":                                  "8",
		"2^3^2":                                 "512",
		"-2^2":                                  "-4",
		"(-2)^2":                                "4",
		"2^-1":                                  "0.5",
		"2^-2^2":                                "0.0625",
		"4^0.5":                                 "2",
		"0^0":                                   "1",
		"(-1)^1000000001":                       "-1",
		"(-1)^1000000000":                       "1",
		"0^1000000000":                          "0",
		"2^0.5":                                 "1.4142135623731",
		"7%3":                                   "1",
		"-7%3":                                  "-1",
		"7.5%2":                                 "1.5",
		"1+2*3-4/2":                             "5",
		"(1+2)*3":                               "9",
		"+5":                                    "5",
		"--5":                                   "5",
		" 1\n+\t1 ":                             "2",
		"1_000*2":                               "2000",
		"0x10+0b11+0o7":                         "26",
		"010":                                   "10",
		"010.50":                                "10.5",
		".5+.5":                                 "1",
		"5.":                                    "5",
		"1e3":                                   "1000",
		"1.5E-3":                                "0.0015",
		"1e-8":                                  "0.00000001",
		"1e30+1":                                "1000000000000000000000000000001",
		"2^-100":                                "7.88860905221012e-31",
		"10^400/3":                              "3.33333333333333e+399",
		"sqrt(16)":                              "4",
		"sqrt(0.25)":                            "0.5",
		"sqrt(2)":                               "1.4142135623731",
		"sqrt(2)^2":                             "2",
		"abs(-3.5)":                             "3.5",
		"abs(3)":                                "3",
		"abs(-pi)":                              "3.14159265358979",
		"round(2.5)":                            "3",
		"round(-2.5)":                           "-3",
		"round(2.675,2)":                        "2.68",
		"round(1234,-2)":                        "1200",
		"round(exp(1),3)":                       "2.718",
		"floor(-1.5)":                           "-2",
		"ceil(-1.5)":                            "-1",
		"floor(pi)":                             "3",
		"ceil(pi)":                              "4",
		"ceil(2)":                               "2",
		"min(3,1,2)":                            "1",
		"max(3,1,2)":                            "3",
		"max(pi,3)":                             "3.14159265358979",
		"min(7)":                                "7",
		"log(1000)":                             "3",
		"ln(e)":                                 "1",
		"exp(0)":                                "1",
		"exp(1)":                                "2.71828182845905",
		"sin(0)":                                "0",
		"sin(pi)":                               "0",
		"cos(pi)":                               "-1",
		"cos(pi/2)":                             "0",
		"sin(1e-9)":                             "1e-9",
		"tan(pi/4)":                             "1",
		"pi":                                    "3.14159265358979",
		"2*pi":                                  "6.28318530717959",
		"π":                                     "3.14159265358979",
		"6×7":                                   "42",
		"84÷2":                                  "42",
		"（1＋1）":                                 "", // refused below: the full-width plus has no ASCII twin here
		"5−3":                                   "2",
		"1+1=":                                  "2",
		"4 | sqrt":                              "", // no pipe
		"9999999999999999999":                   "9999999999999999999",
		"123456789012345678901234567890*10":     "1234567890123456789012345678900",
		"12345678901234567.89*100":              "1234567890123456789",
		"9223372036854775807+1":                 "9223372036854775808",
		"1000000.01*3":                          "3000000.03",
		"0.07*100":                              "7",
		"1.1*1.1":                               "1.21",
		"4.35*100":                              "435",
		"exp(40)":                               "2.3538526683702e+17",
		"(1+0.05/12)^12":                        "1.05116189788173",
		"1/7/7/7/7/7/7/7/7/7/7/7/7/7/7/7/7/7*0": "0",
	} {
		if want == "" {
			_, err := calc.Eval(expression)
			require.Error(t, err, expression)
			continue
		}
		got, err := calc.Eval(expression)
		require.NoError(t, err, expression)
		require.Equal(t, want, got, expression)
	}
}

func TestEvalSaysWhatIsWrong(t *testing.T) {
	for expression, want := range map[string]string{
		"":                               "empty",
		"  ":                             "empty",
		"1/0":                            "division by zero",
		"1%0":                            "division by zero",
		"1/(pi-pi)":                      "division by zero",
		"0^-1":                           "division by zero",
		"sqrt(-1)":                       "negative",
		"ln(0)":                          "above zero",
		"log(-1)":                        "above zero",
		"(-8)^(1/3)":                     "not a real number",
		"10^10000":                       "too large",
		"9^9^9^9":                        "too large",
		"exp(1000)":                      "too large",
		"tan(pi/2)":                      "not defined",
		"1e999999999":                    "too large",
		"1e-999999999":                   "exponent",
		"1+":                             "unexpected token",
		"(1":                             "unexpected token",
		"1)":                             "unexpected token",
		"2(3+4)":                         "write * between",
		"2 3":                            "unexpected token",
		"4//2":                           "floor(a / b)",
		"4/*2*/":                         "/*",
		"foo":                            `unknown name "foo"`,
		"sqrt":                           "is a function",
		"foo(1)":                         `unknown function "foo"`,
		"sum([1,2])":                     `unknown function "sum"`,
		"filter([1], # > 0)":             "unknown function",
		"len('abc')":                     `unknown function "len"`,
		"now()":                          `unknown function "now"`,
		"toJSON(1)":                      `unknown function "toJSON"`,
		"sqrt()":                         "takes 1 argument, not 0",
		"sqrt(1,2)":                      "takes 1 argument, not 2",
		"round(1,2,3)":                   "takes 1 or 2 arguments, not 3",
		"round(1,0.5)":                   "whole number",
		"round(1,99)":                    "whole number",
		"max()":                          "takes 1 or more arguments",
		"1 == 1":                         `operator "=="`,
		"1 < 2":                          "operator",
		"not 1":                          `operator "not"`,
		"1..5":                           "operator",
		"1 ?? 2":                         "operator",
		"'a'+'b'":                        "only numbers",
		"true":                           "only numbers",
		"[1,2]":                          "only numbers",
		"{}":                             "only numbers",
		"1 ? 2 : 3":                      "only numbers",
		"if 1 { 2 } else { 3 }":          "only numbers",
		"let x = 1; x":                   "only numbers",
		"1; 2":                           "only numbers",
		"sqrt.foo":                       "only numbers",
		"$env":                           "$env",
		"$env.HOME":                      "only numbers",
		"::sqrt(4)+foo::x":               "unexpected",
		"1,5":                            "unexpected token",
		"5!":                             "unexpected token",
		"1１":                             "unexpected character",
		"\x00":                           "",
		"\xff":                           "unexpected character",
		strings.Repeat("1+", 1500) + "1": "too long",
		strings.Repeat("1+", 600) + "1":  "nodes",
		strings.Repeat("(", 999) + "1":   "",
		strings.Repeat("-", 1999) + "1":  "nodes",
		"max(" + strings.Repeat("1,", 600) + "1)":                  "nodes",
		strings.Repeat("9", 1500) + "^" + strings.Repeat("9", 400): "too large",
	} {
		_, err := calc.Eval(expression)
		require.Error(t, err, expression)
		require.Contains(t, err.Error(), want, expression)
		require.NotContains(t, err.Error(), "\n", expression)
	}
}

func TestEvalIsBoundedInTime(t *testing.T) {
	for _, expression := range []string{
		"9^9^9", "((2^8000)^8000)^8000", strings.Repeat("(2^8191)*", 150) + "1",
		strings.Repeat("(1/3^500)+", 150) + "1", "1.0000000001^9999999999", "(1/3)^99999999999999999",
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = calc.Eval(expression)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s does not end", expression)
		}
	}
}

// Sums and products of cents are exact, whatever their size.
func TestEvalIsExactForMoney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(-1e15, 1e15).Draw(t, "a")
		b := rapid.Int64Range(1, 1e15).Draw(t, "b")
		text := func(cents int64) string { return big.NewRat(cents, 100).FloatString(2) }
		got, err := calc.Eval("(" + text(a) + ")*(" + text(b) + ")-(" + text(a) + ")")
		require.NoError(t, err)
		x, y := big.NewRat(a, 100), big.NewRat(b, 100)
		want := new(big.Rat).Sub(new(big.Rat).Mul(x, y), x)
		r, ok := new(big.Rat).SetString(got)
		require.True(t, ok, got)
		require.Zero(t, want.Cmp(r), "%s, want %s", got, want)
	})
}

func FuzzEval(f *testing.F) {
	for _, s := range []string{"12*7", "sqrt(2)^2", "1e-400", "max(1,2,3)%2", "2^-100", "((", "//", "0x", "a.b", "9^9^9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := calc.Eval(s)
		if err == nil && (got == "" || strings.ContainsAny(got, "NI\n ")) {
			t.Fatalf("%q gives %q", s, got)
		}
		if err != nil && err.Error() == "" {
			t.Fatalf("%q fails without a reason", s)
		}
	})
}
