package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"picobot/internal/llm"
)

// languages are all catalogues by the file that holds them.
func languages() map[string]entries {
	return map[string]entries{"en.go": english, "zh_cn.go": chinese}
}

func TestEveryMessageHasATextInEveryLanguage(t *testing.T) {
	declared := declaredMessages(t)
	require.NotEmpty(t, declared)
	for file, texts := range languages() {
		var have []string
		for m := range texts {
			have = append(have, reflect.TypeOf(m).Name())
		}
		require.ElementsMatch(t, declared, have, file)
		require.ElementsMatch(t, declared, writtenKeys(t, file), "%s names a message twice", file)
	}
}

func TestEveryTextNamesExactlyTheArgumentsOfItsMessage(t *testing.T) {
	for file, texts := range languages() {
		for m, text := range texts {
			typ := reflect.TypeOf(m)
			var fields, named []string
			for i := range typ.NumField() {
				if f := typ.Field(i); f.Name != "msg" {
					fields = append(fields, f.Name)
				}
			}
			for _, p := range parse(text) {
				if p.field != "" && !slices.Contains(named, p.field) {
					named = append(named, p.field)
				}
			}
			require.ElementsMatch(t, fields, named, "%s: %s", file, typ.Name())
		}
	}
}

func TestEveryTextIsWellFormed(t *testing.T) {
	placeholder := regexp.MustCompile(`\{[A-Z][A-Za-z]*(\|[^{}|]+\|[^{}|]+)?\}`)
	for file, texts := range languages() {
		for m, text := range texts {
			name := file + ": " + reflect.TypeOf(m).Name()
			require.NotEmpty(t, text, name)
			require.Equal(t, strings.TrimSpace(text), text, name)
			require.NotContains(t, placeholder.ReplaceAllString(text, ""), "{", name)
			require.NotContains(t, placeholder.ReplaceAllString(text, ""), "}", name)
		}
	}
}

func TestNounsAfterANumberNeedANumber(t *testing.T) {
	for file, texts := range languages() {
		for m, text := range texts {
			for _, p := range parse(text) {
				if p.many != "" {
					f, _ := reflect.TypeOf(m).FieldByName(p.field)
					require.Equal(t, reflect.Int, f.Type.Kind(), "%s: %s.%s", file, reflect.TypeOf(m).Name(), p.field)
				}
			}
		}
	}
}

func TestArgumentsAreStringsOrInts(t *testing.T) {
	for m := range english {
		typ := reflect.TypeOf(m)
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Name != "msg" {
				require.True(t, f.IsExported(), "%s.%s", typ.Name(), f.Name)
				require.Contains(t, []reflect.Kind{reflect.String, reflect.Int}, f.Type.Kind(), "%s.%s", typ.Name(), f.Name)
			}
		}
	}
}

func TestChineseTextsAreChineseAndEnglishOnesAreNot(t *testing.T) {
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	for m, text := range chinese {
		require.True(t, han(text), reflect.TypeOf(m).Name())
	}
	for m, text := range english {
		require.False(t, han(text), reflect.TypeOf(m).Name())
	}
}

func TestSayFillsInEveryArgument(t *testing.T) {
	for _, locale := range []string{English, Chinese} {
		for m := range english {
			filled := reflect.New(reflect.TypeOf(m)).Elem()
			var want []string
			for i := range filled.NumField() {
				switch f := filled.Field(i); f.Kind() {
				case reflect.String:
					f.SetString("<" + filled.Type().Field(i).Name + ">")
					want = append(want, f.String())
				case reflect.Int:
					f.SetInt(4711)
					want = append(want, "4711")
				}
			}
			said := For(locale).Say(filled.Interface().(Message))
			require.NotContains(t, said, "{", locale)
			for _, w := range want {
				require.Contains(t, said, w, locale)
			}
		}
	}
}

func TestArgumentsAreNotReadAsPlaceholders(t *testing.T) {
	require.Equal(t, "New dialog: {Title} {", For("en").Say(DialogCreated{Title: "{Title} {"}))
}

func TestNumbersGetTheirNoun(t *testing.T) {
	en := For("en")
	require.Contains(t, en.Say(PoisonTurn{Attempts: 1}), "started 1 time,")
	require.Contains(t, en.Say(PoisonTurn{Attempts: 5}), "started 5 times,")
	require.Contains(t, For("zh-CN").Say(PoisonTurn{Attempts: 5}), "处理了 5 次")
	require.Equal(t, "2. T (d, 0 messages)", en.Say(SessionsItem{Number: 2, Title: "T", DialogID: "d"}))
}

func TestLocalesAreUnderstoodAsClientsWriteThem(t *testing.T) {
	for locale, want := range map[string]string{
		"en": English, "zh-CN": Chinese, "zh": Chinese, "zh_CN.UTF-8": Chinese, "ZH-hans": Chinese, "zh.utf8": Chinese,
		"en-GB": English, "": English, "C": English, "fr": English, "zhx": English, strings.Repeat("z", 10000): English,
	} {
		require.Equal(t, want, For(locale).Locale(), locale)
	}
}

func TestEveryKindOfModelFailureHasATextThatNamesModelAndProvider(t *testing.T) {
	kinds := kindsOfFailure(t)
	require.GreaterOrEqual(t, len(kinds), 13)
	seen := map[reflect.Type]bool{}
	for _, kind := range kinds {
		m := ModelFailed(&llm.Error{Kind: kind, Model: "mod", Provider: "prov", Message: "because"})
		require.NotEqual(t, reflect.TypeFor[TurnFailed](), reflect.TypeOf(m), "kind %s has no text of its own", kind)
		require.False(t, seen[reflect.TypeOf(m)], "kind %s shares its text", kind)
		seen[reflect.TypeOf(m)] = true
		for _, locale := range []string{English, Chinese} {
			said := For(locale).Say(m)
			require.Contains(t, said, "mod", kind)
			require.Contains(t, said, "prov", kind)
		}
	}
}

func TestEveryKindOfModelFailureHasAFewWordsOfItsOwn(t *testing.T) {
	seen := map[Message]bool{WhyUnknown{}: true}
	for _, kind := range kindsOfFailure(t) {
		m := WhyModelFailed(kind)
		require.False(t, seen[m], "kind %s shares its words or has none", kind)
		seen[m] = true
	}
	require.Equal(t, WhyUnknown{}, WhyModelFailed("odd"))
}

func TestAFailureWithoutMessageIsToldByItsStatus(t *testing.T) {
	require.Equal(t, ModelServerError{Model: "m", Provider: "p", Detail: "HTTP 502"},
		ModelFailed(&llm.Error{Kind: llm.KindServer, Model: "m", Provider: "p", Status: 502}))
	require.Equal(t, ModelBadRequest{Detail: "bad_request"}, ModelFailed(&llm.Error{Kind: llm.KindBadRequest}))
	require.Equal(t, TurnFailed{Detail: "odd"}, ModelFailed(&llm.Error{Kind: "odd"}))
}

// declaredMessages lists the structs of this package that embed msg.
func declaredMessages(t *testing.T) []string {
	var names []string
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		ast.Inspect(parseFile(t, f.Name()), func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if id, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 && id.Name == "msg" {
						names = append(names, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return names
}

// writtenKeys lists the keys of a language's map as they stand in its file: a key that
// stands there twice is only once in the map.
func writtenKeys(t *testing.T, file string) []string {
	var names []string
	ast.Inspect(parseFile(t, file), func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if lit, ok := kv.Key.(*ast.CompositeLit); ok {
				names = append(names, lit.Type.(*ast.Ident).Name)
			}
		}
		return true
	})
	return names
}

// kindsOfFailure reads the kinds from the source of internal/llm, so that a new one
// cannot be forgotten here.
func kindsOfFailure(t *testing.T) []llm.Kind {
	var kinds []llm.Kind
	ast.Inspect(parseFile(t, "../llm/errors.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Kind" {
			lit := spec.Values[0].(*ast.BasicLit)
			kinds = append(kinds, llm.Kind(strings.Trim(lit.Value, `"`)))
		}
		return true
	})
	return kinds
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	return f
}

// What names several things names the same ones in every language.
func TestTextsOfSeveralPartsHaveAsManyInEveryLanguage(t *testing.T) {
	parts := func(text string) int {
		return strings.Count(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(text, ""), "|")
	}
	for m, text := range english {
		require.Equal(t, parts(text), parts(chinese[m]), reflect.TypeOf(m).Name())
	}
}
