package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

const hosts = "前言\n\n| 主机名称 | 状态说明 | ms | note |\n|---|:---:|---:|---|\n" +
	"| web-1.example | 正常，负载很低，没有需要处理的问题 | 12 | ok |\n" +
	"| 数据库主节点 | **异常**：磁盘空间不足，<br>需要清理日志文件 | 1200 | `a\\|b` |\n\nend"

func TestTable_AtAnyWidth_CanBeRead(t *testing.T) {
	for width, want := range map[int]string{
		79: `
前言

主机名称      │              状态说明              │   ms │ note
──────────────┼────────────────────────────────────┼──────┼──────
web-1.example │ 正常，负载很低，没有需要处理的问题 │   12 │ ok
──────────────┼────────────────────────────────────┼──────┼──────
数据库主节点  │        异常：磁盘空间不足，        │ 1200 │ ` + "`a|b`" + `
              │          需要清理日志文件          │      │

end`,
		39: `
前言

主机名称      │ 状态说明 │   ms │ note
──────────────┼──────────┼──────┼──────
web-1.example │ 正常，负 │   12 │ ok
              │ 载很低， │      │
              │ 没有需要 │      │
              │ 处理的问 │      │
              │    题    │      │
──────────────┼──────────┼──────┼──────
数据库主节点  │ 异常：磁 │ 1200 │ ` + "`a|b`" + `
              │ 盘空间不 │      │
              │   足，   │      │
              │ 需要清理 │      │
              │ 日志文件 │      │

end`,
		19: `
前言

主机名称:
  web-1.example
状态说明: 正常，负
  载很低，没有需要
  处理的问题
ms: 12
note: ok
────────
主机名称: 数据库主
  节点
状态说明: 异常：磁
  盘空间不足， 需要
  清理日志文件
ms: 1200
note: ` + "`a|b`" + `

end`,
	} {
		got := ansi.Strip(strings.Join(lines(t, width, false, hosts), "\n"))
		if want = strings.TrimPrefix(want, "\n"); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestTable_Cells_AreWordsAndNoBlocks(t *testing.T) {
	for cell, want := range map[string]string{
		"- no list": "- no list", "# no heading": "# no heading", "12. no number": "12. no number", "> no quotation": "> no quotation",
		"*slanted*": "slanted", "[link](https://example.com)": "link https://example.com", "List<String>": "List<String>", "---": "---", "": "",
	} {
		got := lines(t, 60, false, "| a | b |\n|---|---|\n| x | "+cell+" |")
		if len(got) != 3 || strings.TrimRight(ansi.Strip(got[2]), " ") != strings.TrimRight("x │ "+want, " ") {
			t.Errorf("%q: got %q", cell, got)
		}
	}
	for text, want := range map[string]string{
		"| only | heads |\n|---|---|":                        "only │ heads\n─────┼──────",
		"before\n| a | b |\n|---|---|\n| 1 |\n| 2 | 3 | 4 |": "before\n\na │ b\n──┼──\n1 │\n2 │ 3",
		"a | b\n--|--\n1 | 2\n\nafter":                       "a │ b\n──┼──\n1 │ 2\n\nafter",
	} {
		if got := ansi.Strip(strings.Join(lines(t, 60, false, text), "\n")); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestTable_OfAnything_FitsAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[a-z中文字，é😀]{0,12}( [a-z中文字]{1,30})?")
		columns := rapid.IntRange(1, 7).Draw(t, "columns")
		row := func(what string) []string {
			return rapid.SliceOfN(word, columns, columns).Draw(t, what)
		}
		source, said := "", ""
		for i := range rapid.IntRange(1, 4).Draw(t, "rows") {
			cells := row("row")
			source += "| " + strings.Join(cells, " | ") + " |\n"
			if i == 0 {
				source += strings.Repeat("|---", columns) + "|\n"
			}
			said += strings.Join(cells, "")
		}
		width := rapid.IntRange(8, 90).Draw(t, "width")
		r, err := New(width, rapid.Bool().Draw(t, "colour"))
		if err != nil {
			t.Fatal(err)
		}
		shown := r.Lines(source)
		has := map[rune]int{}
		for _, l := range shown {
			if ansi.StringWidth(l) > width {
				t.Fatalf("%q is wider than %d", l, width)
			}
			for _, c := range ansi.Strip(l) {
				has[c]++
			}
		}
		for _, c := range said {
			if has[c]--; c != ' ' && has[c] < 0 {
				t.Fatalf("%q is missing in\n%s", c, strings.Join(shown, "\n"))
			}
		}
	})
}
