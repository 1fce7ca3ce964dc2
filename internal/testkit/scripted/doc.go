// Package scripted is what the fakes of model providers have in common: a queue of
// steps that requests take one by one, a record of what was asked, and ways to let an
// answer wait. What a request or an answer looks like only the fake knows.
package scripted
