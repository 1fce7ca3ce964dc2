package title_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/title"
)

func TestClean_TitlesAndWhatIsNone(t *testing.T) {
	for answer, want := range map[string]string{
		"Fixing the Docker build":                       "Fixing the Docker build",
		"\n  \"Fixing the Docker build.\"  \nBecause …": "Fixing the Docker build",
		"**Title: Fixing the Docker build**":            "Fixing the Docker build",
		"# Fixing  the\tDocker build":                   "Fixing the Docker build",
		"One two three four five six seven eight nine":  "One two three four five six seven eight",
		"Hello":     "",
		"Too short": "",
		strings.Repeat("far too long to be a title ", 10): "",
		strings.Repeat("x", 100) + " y z":                 "",
		"“周末去杭州的旅行计划”":                                    "周末去杭州的旅行计划",
		"标题：修复登录页面的错误。":                                   "修复登录页面的错误",
		"关于如何在两个星期之内学会做饭的计划":                              "关于如何在两个星期之内学会做饭",
		"你好":                     "",
		strings.Repeat("很长", 20): "",
		"":                       "",
		" \n\t\"\"\n":            "",
		"a\x00b\u202ec d e":      "abc d e",
	} {
		require.Equal(t, want, title.Clean(answer), "%q", answer)
	}
}

// Whoever only repeats the request has made no title.
func TestClean_AnEchoOfTheRequest_IsNoTitle(t *testing.T) {
	req := title.Request([]chat.Message{{Role: chat.RoleUser, Content: "hi"}})
	require.Empty(t, title.Clean("echo: "+req[1].Content))
}

func TestRequest_OfAnyConversation_IsBounded(t *testing.T) {
	var long []chat.Message
	for range 1000 {
		long = append(long, chat.Message{Role: chat.RoleUser, Content: strings.Repeat("长\n", 5000)})
	}
	req := title.Request(long)
	require.Len(t, req, 2)
	require.Less(t, utf8.RuneCountInString(req[1].Content), 8000)
	require.Contains(t, req[0].Content, "5 to 15 characters")
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"Fixing the Docker build", "“周末去杭州的旅行计划”", "title: a b c", "\xff\xfe \n a b c", strings.Repeat("a ", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		got := title.Clean(answer)
		if n := utf8.RuneCountInString(got); n > 80 {
			t.Errorf("%d characters: %q", n, got)
		}
		if strings.ContainsFunc(got, unicode.IsControl) || got != strings.TrimSpace(got) || strings.ContainsAny(got[:min(1, len(got))], "\"'`#*") {
			t.Errorf("%q", got)
		}
		if len(strings.Fields(got)) > 15 {
			t.Errorf("too many words: %q", got)
		}
	})
}
