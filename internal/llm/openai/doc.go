// Package openai talks to OpenAI and to everything that speaks its chat
// completions protocol. It is the only package that may import go-openai.
//
// go-openai carries the requests; what differs between endpoints is levelled in
// an HTTP layer of our own (wire), and streams are put together by an accumulator
// of our own, because a lost or merged tool call is worse than a failed one. A
// call either returns a whole answer or an *llm.Error, never half of either.
//
// The package must not retry, must not read the environment (a proxy excepted),
// must not log, and must not let a key into an error.
package openai
