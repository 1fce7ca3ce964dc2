package page

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxFilled is how many cells that a page does not have may be added to make its
// tables rectangular. A cell that spans a million rows is one line of HTML and a
// gigabyte of Markdown.
const maxFilled = 20_000

// flattenTables makes plain blocks of the tables that would grow too much.
func flattenTables(document *html.Node) {
	room := maxFilled
	for n := range document.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom != atom.Table {
			continue
		}
		filled := filling(n)
		if filled > room {
			flatten(n)
			continue
		}
		room -= filled
	}
}

// filling is how many cells are missing in the rectangle that a table becomes. Those
// of tables inside it count too, which makes it too large rather than too small.
func filling(table *html.Node) int {
	rows, width, widest, tallest, cells := 1, 0, 0, 1, 0
	for n := range table.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.DataAtom == atom.Tr:
			rows++
			width = 0
		case n.DataAtom == atom.Td || n.DataAtom == atom.Th:
			cells++
			width += span(n, "colspan")
			widest = max(widest, width)
			tallest = max(tallest, span(n, "rowspan"))
		}
	}
	return max(0, (rows+tallest)*widest-cells)
}

// span reads how many columns or rows a cell takes; what is no sensible number
// counts as too many.
func span(cell *html.Node, name string) int {
	value := attribute(cell, name)
	if value == "" {
		return 1
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxFilled {
		return maxFilled + 1
	}
	return max(n, 1)
}

func flatten(table *html.Node) {
	block(table)
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup, atom.Col:
			block(n)
		}
	}
}

func block(n *html.Node) { n.Data, n.DataAtom = "div", atom.Div }
