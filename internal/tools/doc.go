// Package tools holds what a model may call: the registry that turns a call as
// the model wrote it into a result the model can read, and the tools that need
// nothing but this machine (calculator, get_time, file_read, file_write,
// file_edit, bash) or the web (http_request, web_fetch). Each tool has a file of its own, and beside it the prose the
// model is given, as Markdown.
//
// It owns: schemas and argument checks, effect classes, the wording and size of
// results, and the confinement of files to the workspace. Shell commands run
// under the supervisor of package proc; what is fetched is dialled by package
// netguard and made readable by package page.
//
// It must not retry, decide whether a call may run again, or write the record:
// that is its caller's, which finds what it needs in a tool's Effect. It knows
// nothing of Temporal, the store or the configuration file, and a tool never
// fails a turn: whatever goes wrong is a Result that says what to do.
package tools
