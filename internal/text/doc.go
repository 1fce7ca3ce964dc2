// Package text owns every sentence that PicoBot itself says to people: notices, the
// rows that tell why a turn failed, command replies, default titles, lines of the
// terminal. It knows each of them in every language, and nothing about who says them.
//
// A text is a message type: a struct that names its arguments. Callers write
//
//	text.For(locale).Say(text.PoisonTurn{Attempts: 5})
//
// and the compiler checks the names and types of the arguments.
//
// To add a text:
//
//  1. declare the struct in the messages_*.go file of its subject, with msg embedded
//     and its arguments as exported string or int fields;
//  2. add a line for it to en.go and to zh_cn.go. {Field} stands for an argument,
//     {Field|one|many} in a language that counts for the number with the right noun.
//
// The tests fail when a language lacks a text, when a text names a field that does not
// exist or leaves one out, and when a field cannot be shown.
//
// What a model reads (tool results, prompts) and what a log or an error says is not
// translated and does not belong here. Texts never hold secrets: callers pass names,
// and details that are scrubbed already. Of PicoBot only internal/llm is known here,
// for the kinds of failure.
package text
