package page_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"picobot/internal/tools/page"
)

func TestRead_MoreThanTheLimit_ReadsNoFurther(t *testing.T) {
	data, more, err := page.Read(strings.NewReader("12345"), 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	require.False(t, more)
	data, more, err = page.Read(io.MultiReader(strings.NewReader("123456"), iotest.ErrReader(errors.New("read on"))), 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	require.True(t, more)
	_, _, err = page.Read(iotest.ErrReader(errors.New("broken")), 5)
	require.EqualError(t, err, "broken")
}

// A bomb is bounded by what it unpacks to.
func TestRead_CompressedBomb_UnpacksNoMoreThanTheLimit(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		z := gzip.NewWriter(w)
		var err error
		for chunk := make([]byte, 1<<20); err == nil; {
			_, err = z.Write(chunk) // would never end
		}
	}()
	z, err := gzip.NewReader(r)
	require.NoError(t, err)
	data, more, err := page.Read(z, 1<<20)
	require.NoError(t, err)
	require.True(t, more)
	require.Len(t, data, 1<<20)
	require.NoError(t, r.Close())
}

func TestText_EveryCharacterSet_IsDecoded(t *testing.T) {
	const text = "飞书 Größe"
	encode := func(s string, err error) []byte { require.NoError(t, err); return []byte(s) }
	latin := encode(charmap.ISO8859_1.NewEncoder().String("Größe"))
	utf16 := encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text))
	for name, c := range map[string]struct {
		contentType string
		data        []byte
		want        string
	}{
		"UTF-8":                    {"text/plain; charset=utf-8", []byte(text), text},
		"UTF-8, undeclared":        {"text/plain", []byte(text), text},
		"UTF-8 after much ASCII":   {"text/plain", []byte(strings.Repeat("a", 2000) + text), strings.Repeat("a", 2000) + text},
		"UTF-8 with a mark":        {"text/plain", []byte("\xef\xbb\xbf" + text), text},
		"UTF-8 cut in a character": {"text/plain", []byte(text + "飞"[:1]), text + "\uFFFD"},
		"GB18030":                  {"text/plain; charset=gb18030", encode(simplifiedchinese.GB18030.NewEncoder().String("飞书")), "飞书"},
		"GBK in a meta tag":        {"text/html", append([]byte(`<meta charset="gbk">`), encode(simplifiedchinese.GBK.NewEncoder().String("飞书"))...), `<meta charset="gbk">飞书`},
		"Shift JIS":                {"text/html; charset=Shift_JIS", encode(japanese.ShiftJIS.NewEncoder().String("日本")), "日本"},
		"Latin-1":                  {"text/plain; charset=iso-8859-1", latin, "Größe"},
		"Latin-1, undeclared":      {"text/plain", latin, "Größe"},
		"UTF-16":                   {"text/plain", utf16, text},
		"unknown charset":          {"text/plain; charset=klingon", []byte(text), text},
		"JSON that claims Latin-1": {"application/json; charset=iso-8859-1", []byte(`{"a":"ö"}`), `{"a":"ö"}`},
		"JSON":                     {"application/vnd.api+json", []byte(`{}`), `{}`},
		"broken parameter":         {"text/plain; charset", []byte("x"), "x"},
		"no type":                  {"", []byte("just words"), "just words"},
		"unknown type, but text":   {"application/octet-stream", []byte("just words"), "just words"},
		"false UTF-8":              {"text/plain; charset=utf-8", []byte("a\xffb"), "a\uFFFDb"},
		"nothing":                  {"image/png", nil, ""},
	} {
		got, ok := page.Text(c.contentType, c.data)
		require.True(t, ok, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestText_WhatIsNoText_IsSaidToBeNone(t *testing.T) {
	for contentType, data := range map[string]string{
		"image/png": "\x89PNG\r\n", "application/pdf": "%PDF-1.7 text", "application/zip": "PK", "application/octet-stream": "a\x00b",
		"text/plain": "a\x00b", "": "\x89PNG\r\n\x1a\n\x00", "video/mp4": "x", "application/wasm": "\x00asm",
	} {
		_, ok := page.Text(contentType, []byte(data))
		require.False(t, ok, contentType)
	}
}

const story = `<!doctype html><html><head><title>The  Story
 of A</title><style>p{}</style><script>alert("never")</script></head><body>
<nav><a href="/home">Home</a><a href="/about">About</a></nav>
<article><h1>The Story of A</h1><p>` + para + `</p><p>See <a href="../b?x=1">the second</a> and <b>mind</b> it. ` + para + `</p>
<img src="data:image/png;base64,AAAA" alt="inline"><img src="/pic.png" alt="a picture">
<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ann</td><td>30</td></tr></table>
<ul><li>one</li><li>two</li></ul><pre><code>go test</code></pre><p>` + para + `</p></article>
<footer>Imprint</footer></body></html>`

const para = `It was a quiet morning, and the harbour lay still, as it had for years, when the first of the boats came in, late, heavy and without a light. Nobody had seen it leave, and nobody would say where it had been, or with whom.`

func at(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return u
}

func TestArticle_OfAPage_IsMarkdownWithTablesAndAbsoluteLinks(t *testing.T) {
	title, got := page.Article(story, at(t, "https://example.com/a/page.html"))
	require.Equal(t, "The Story of A", title)
	for _, want := range []string{"quiet morning", "[the second](https://example.com/b?x=1)", "**mind**", "https://example.com/pic.png", "- one", "go test"} {
		require.Contains(t, got, want)
	}
	require.Regexp(t, `\| Name \| Age \|\n\| ?-+ ?\| ?-+ ?\|\n\| Ann +\| 30 +\|`, got)
	for _, gone := range []string{"never", "data:", "AAAA", "Imprint", "About", "p{}"} {
		require.NotContains(t, got, gone)
	}
}

func TestArticle_PagesThatAreNone_AreShownWhole(t *testing.T) {
	title, got := page.Article(`<title>List</title><body><ul><li><a href="/1">First</a></li><li><a href="/2">Second</a></li></ul>`, at(t, "https://example.com/"))
	require.Equal(t, "List", title)
	require.Contains(t, got, "[First](https://example.com/1)")
	require.Contains(t, got, "[Second](https://example.com/2)")
	_, got = page.Article("no tags at all", at(t, "https://example.com/"))
	require.Equal(t, "no tags at all", got)
}

func TestArticle_NestedTooDeep_IsReducedToItsWords(t *testing.T) {
	_, got := page.Article(strings.Repeat("<div>", 100_000)+"deep &amp; down<script>never</script>", at(t, "https://example.com/"))
	require.Equal(t, "deep & down", got)
}

func TestArticle_HostilePages_EndInText(t *testing.T) {
	for name, source := range map[string]string{
		"nothing":         "",
		"wide":            strings.Repeat("<p>x</p>", 50_000),
		"nested tables":   strings.Repeat("<table><tr><td>", 120) + "x",
		"nested quotes":   strings.Repeat("<blockquote>", 400) + "x",
		"nested lists":    strings.Repeat("<ul><li>", 200) + "x",
		"formatting":      strings.Repeat("<b><i><a href=x>", 3000) + "x",
		"attributes":      "<p " + strings.Repeat("a=b ", 50_000) + ">x",
		"huge span":       `<table><tr><td colspan="1000000000" rowspan="1000000000">x</td></tr></table>`,
		"large span":      strings.Repeat(`<table><tr><td colspan="100" rowspan="150">x</td></tr></table>`, 3000),
		"wide row":        "<table><tr>" + strings.Repeat("<td>", 3000) + strings.Repeat("<tr><td>x", 3000) + "</table>",
		"large cell":      "<table><tr><td>" + strings.Repeat("x", 100_000) + strings.Repeat("<tr><td>x", 3000) + "</table>",
		"negative span":   `<table><tr><td colspan="-5" rowspan="0">x</td><td colspan="x">y</td></tr></table>`,
		"unclosed":        "<p><<<<<<a href='<b",
		"NUL and control": "<p>a\x00b\x01\x1b[31m</p>",
		"script only":     "<script>" + strings.Repeat("x", 100_000),
		"bad links":       `<a href="javascript:alert(1)">x</a><a href="http://[::1">y</a><a href="%zz">z</a>`,
	} {
		title, got := page.Article(source, at(t, "https://example.com/"))
		require.True(t, utf8.ValidString(title+got), name)
		require.LessOrEqual(t, utf8.RuneCountInString(title), 300, name)
		require.Less(t, len(got), 20*len(source)+100_000, name)
	}
}

func FuzzArticle(f *testing.F) {
	for _, s := range []string{story, "", "<table><tr><td colspan=9>x", "<p>a<p>b", "<svg><title>x", "<template><p>x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 20_000 {
			return
		}
		title, got := page.Article(source, at(t, "https://example.com/"))
		if strings.Contains(title, "\n") || got != strings.TrimSpace(got) {
			t.Fatalf("%q gives %q and %q", source, title, got)
		}
	})
}
