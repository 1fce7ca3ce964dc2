// Package page makes text for a model of what a web server sent: it reads no more
// than it was told to, decodes whatever character set the text is in, and turns the
// article of an HTML page into Markdown.
//
// It must not fetch anything: bytes come in, text goes out. Nothing in it trusts
// what it reads; the worst a page can do is to be shown badly.
package page
