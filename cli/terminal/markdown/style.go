package markdown

import (
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
)

// style is one for light and dark terminals alike: the sixteen colours that the
// person's own terminal has, and none at all where colour is not wanted.
func style(colour bool) ansi.StyleConfig {
	yes, none := true, uint(0)
	two := uint(2)
	s := styles.NoTTYStyleConfig
	s.Document = ansi.StyleBlock{Margin: &none}
	s.Heading = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n", Bold: &yes, Color: hue(colour, "6")}}
	s.H1 = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: &yes}}
	for _, h := range []*ansi.StyleBlock{&s.H2, &s.H3, &s.H4, &s.H5, &s.H6} {
		*h = ansi.StyleBlock{}
	}
	s.Emph = ansi.StylePrimitive{Italic: &yes}
	s.Strong = ansi.StylePrimitive{Bold: &yes}
	s.Strikethrough = ansi.StylePrimitive{CrossedOut: &yes}
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: hue(colour, "3")}}
	if !colour {
		s.Code.Prefix, s.Code.Suffix = "`", "`"
	}
	s.List = ansi.StyleList{LevelIndent: 2}
	across, down := "─", "│"
	s.Table = ansi.StyleTable{CenterSeparator: ptr("┼"), ColumnSeparator: &down, RowSeparator: &across}
	s.CodeBlock = ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: &two}}
	if colour {
		s.CodeBlock.Chroma = highlighting()
	}
	bar := "│ "
	s.BlockQuote = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Faint: &yes}, Indent: ptr(uint(1)), IndentToken: &bar}
	s.HorizontalRule = ansi.StylePrimitive{Format: "\n────────\n"}
	s.Link = ansi.StylePrimitive{Underline: &yes, Color: hue(colour, "4")}
	s.LinkText = ansi.StylePrimitive{Bold: &yes}
	s.Item = ansi.StylePrimitive{BlockPrefix: "• "}
	s.Enumeration = ansi.StylePrimitive{BlockPrefix: ". "}
	s.Task = ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "}
	return s
}

// highlighting names colours that the formatter takes for the dark ones of the sixteen.
func highlighting() *ansi.Chroma {
	in := func(colour string) ansi.StylePrimitive { return ansi.StylePrimitive{Color: &colour} }
	const green, olive, magenta, teal = "#007f00", "#7f7f00", "#7f007f", "#007f7f"
	return &ansi.Chroma{
		Comment:         in(teal),
		CommentPreproc:  in(teal),
		Keyword:         in(magenta),
		KeywordType:     in(teal),
		LiteralString:   in(green),
		LiteralNumber:   in(olive),
		GenericDeleted:  in("#7f0000"),
		GenericInserted: in(green),
	}
}

func hue(colour bool, code string) *string {
	if !colour {
		return nil
	}
	return &code
}

func ptr[T any](v T) *T { return &v }
