package skills

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"picobot/internal/brief"
)

func TestParse_FrontMatterAsPeopleWriteIt_IsRead(t *testing.T) {
	for name, c := range map[string]struct{ text, name, description string }{
		"plain":                       {"---\nname: a\ndescription: does it\n---\nbody", "a", "does it"},
		"byte order mark":             {"\uFEFF---\nname: a\ndescription: does it\n---\nbody", "a", "does it"},
		"CRLF":                        {"---\r\nname: a\r\ndescription: does it\r\n---\r\nbody", "a", "does it"},
		"byte order mark and CRLF":    {"\uFEFF---\r\nname: a\r\ndescription: does it\r\n---\r\n\r\nbody\r\n", "a", "does it"},
		"old Mac line ends":           {"---\rname: a\rdescription: does it\r---\rbody", "a", "does it"},
		"blank lines before":          {"\n\n---\nname: a\ndescription: does it\n---\nbody", "a", "does it"},
		"blanks after the marks":      {"---  \nname: a\ndescription: does it\n--- \t\nbody", "a", "does it"},
		"ends with dots":              {"---\nname: a\ndescription: does it\n...\nbody", "a", "does it"},
		"no body":                     {"---\nname: a\ndescription: does it\n---", "a", "does it"},
		"no name":                     {"---\ndescription: does it\n---\nbody", "", "does it"},
		"double quotes":               {"---\nname: \"a\"\ndescription: \"does: it\"\n---\n", "a", "does: it"},
		"single quotes":               {"---\nname: 'a'\ndescription: 'it''s: it'\n---\n", "a", "it's: it"},
		"colon":                       {"---\nname: a\ndescription: Use when: always. Not: never\n---\n", "a", "Use when: always. Not: never"},
		"colon and quotes inside":     {"---\nname: a\ndescription: Use for \"x\": y\n---\n", "a", "Use for \"x\": y"},
		"quotes in quotes":            {"---\nname: a\ndescription: \"say \"hi\": now\"\n---\n", "a", "say \"hi\": now"},
		"colon over two lines":        {"---\nname: a\ndescription: Use when: always\n  and: more\nlicense: MIT\n---\n", "a", "Use when: always and: more"},
		"folded block":                {"---\nname: a\ndescription: >\n  one\n  two\n---\n", "a", "one two"},
		"folded and stripped":         {"---\nname: a\ndescription: >-\n  one: x\n\n  two\n---\n", "a", "one: x two"},
		"literal block":               {"---\nname: a\ndescription: |\n  one\n  two\n---\n", "a", "one two"},
		"literal block, other broken": {"---\nname: a\ndescription: |-\n  one: x\n  two\nwhen: use: it\n---\n", "a", "one: x two"},
		"plain over two lines":        {"---\nname: a\ndescription: one\n  two\n---\n", "a", "one two"},
		"tabs":                        {"---\nname:\ta\ndescription:\tdoes it\nmetadata:\n\tx: y\n---\n", "a", "does it"},
		"comments":                    {"---\n# ours\nname: a # the name\ndescription: does it # or not\n---\n", "a", "does it"},
		"begins with a bracket":       {"---\nname: a\ndescription: [beta] does it\n---\n", "a", "[beta] does it"},
		"begins with a star":          {"---\nname: a\ndescription: *new* does it\n---\n", "a", "*new* does it"},
		"begins with an at":           {"---\nname: a\ndescription: @team: does it\n---\n", "a", "@team: does it"},
		"a number":                    {"---\nname: 007\ndescription: 42\n---\n", "007", "42"},
		"yes":                         {"---\nname: yes\ndescription: no\n---\n", "yes", "no"},
		"capital keys":                {"---\nName: a\nDescription: does it\n---\n", "a", "does it"},
		"keys of others":              {"---\nname: a\ndescription: does it\nallowed-tools: [Bash, Read]\nmetadata:\n  openclaw: {requires: {bins: [x]}}\nhooks:\n  - a: b\n---\n", "a", "does it"},
		"metadata in JSON":            {"---\nname: a\ndescription: does it\nmetadata:\n  {\n    \"x\": { \"y\": [1, 2,], },\n  }\n---\n", "a", "does it"},
		"flow":                        {"---\n{name: a, description: does it}\n---\n", "a", "does it"},
		"anchor":                      {"---\nx: &x does it\nname: a\ndescription: *x\n---\n", "a", "does it"},
		"doubled key":                 {"---\nname: a\ndescription: first\ndescription: does it\n---\n", "a", "does it"},
		"hidden characters":           {"---\nname: a\ndescription: \"does\u202e \u200bit\u0007\"\n---\n", "a", "does it"},
		"rule in the body":            {"---\nname: a\ndescription: does it\n---\nbody\n---\nmore", "a", "does it"},
		"mark within a line":          {"---\nname: a\ndescription: does --- it\n---\n", "a", "does --- it"},
		"emoji and Chinese":           {"---\nname: 日报\ndescription: 写日报：📝 每天\n---\n", "日报", "写日报：📝 每天"},
	} {
		d, err := parse([]byte(c.text))
		require.NoError(t, err, name)
		require.Equal(t, c.name, d.name, name)
		require.Equal(t, c.description, d.description, name)
	}
	d, err := parse([]byte("---\r\nname: a\r\ndescription: b\r\n---\r\n\r\n# Title\r\n\r\ntext\r\n---\r\n"))
	require.NoError(t, err)
	require.Equal(t, "# Title\n\ntext\n---\n", d.body)
}

func TestParse_WhatIsNoSkill_IsRefusedWithAReason(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":                 {"", "does not begin with front matter"},
		"no front matter":       {"# Title\n\ntext", "does not begin with front matter"},
		"not closed":            {"---\nname: a\ndescription: b\n", "does not end"},
		"too long":              {"---\nname: a\n" + strings.Repeat("# x\n", maxFrontMatter/4) + "description: b\n---\n", "does not end within"},
		"no description":        {"---\nname: a\n---\nbody", "no description"},
		"empty description":     {"---\nname: a\ndescription:\n---\nbody", "no description"},
		"blank description":     {"---\nname: a\ndescription: \"  \"\n---\nbody", "no description"},
		"null description":      {"---\nname: a\ndescription: ~\n---\nbody", "no description"},
		"nothing in it":         {"---\n---\nbody", "no description"},
		"a list":                {"---\n- a\n- b\n---\nbody", "no description"},
		"not closed quote":      {"---\nname: a\ndescription: \"b\n---\nbody", "quote"},
		"not closed bracket":    {"---\nname: a\ndescription: [b\n---\nbody", "bracket"},
		"UTF-16":                {"\xFF\xFE-\x00-\x00", "UTF-16"},
		"not UTF-8":             {"---\nname: a\ndescription: \xb9\xfa\n---\n", "UTF-8"},
		"not UTF-8 in the body": {"---\nname: a\ndescription: b\n---\n\xff", "UTF-8"},
	} {
		_, err := parse([]byte(c.text))
		require.ErrorContains(t, err, c.want, name)
	}
}

// A few hundred bytes of aliases can stand for gigabytes.
func TestParse_YAMLBombs_CostNothing(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("---\nname: a\ndescription: b\na0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	bomb.WriteString("---\n")
	for name, text := range map[string]string{
		"aliases":   bomb.String(),
		"merge":     "---\nname: a\ndescription: b\na: &a {<<: *a}\n---\n",
		"circle":    "---\nname: a\ndescription: b\na: &a [*a]\n---\n",
		"deep flow": "---\nname: a\ndescription: b\nx: " + strings.Repeat("[", 30000) + "\n---\n",
		"deep maps": "---\nname: a\ndescription: b\nx: " + strings.Repeat("{a: ", 10000) + "\n---\n",
		"deep":      "---\nname: a\ndescription: b\n" + nested(300) + "---\n",
		"many":      "---\nname: a\ndescription: b\n" + strings.Repeat("? \n", 20000) + "---\n",
		"tags":      "---\nname: a\ndescription: b\nx: !!binary |\n  AAAA\ny: !!python/object/apply:os.system [id]\n---\n",
	} {
		began := time.Now()
		d, err := parse([]byte(text))
		require.NoError(t, err, name)
		require.Equal(t, "b", d.description, name)
		t.Log(name, time.Since(began))
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "x:\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"---\nname: a\ndescription: b\n---\nbody", "---\r\nname: \"a\"\r\ndescription: |\r\n  x: y\r\n---\r\n", "---\n&a [*a]\n---\n",
		"---\ndescription: Use: when\n  more: x\n---\n", "\uFEFF---\ndescription: [x\n...\n", "---\n? description\n: x\n---", "---\n{description: x}\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse([]byte(text))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, d.description)
		require.LessOrEqual(t, utf8.RuneCountInString(d.description), maxDescription)
		require.Equal(t, brief.OneLine(d.description), d.description, "it is one line without hidden characters")
		require.True(t, utf8.ValidString(d.name+d.body))
		// What is changed by us is read back as it was meant, or refused.
		text, err = compose("x", "Says: \"hello\" # not a comment", "new body", &d)
		if err == nil {
			again, err := parse([]byte(text))
			require.NoError(t, err)
			require.Equal(t, "Says: \"hello\" # not a comment", again.description)
			require.Equal(t, "new body", strings.TrimSpace(again.body))
			require.Equal(t, d.manual, again.manual)
		}
	})
}
