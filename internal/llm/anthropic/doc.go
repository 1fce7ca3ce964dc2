// Package anthropic talks to Anthropic's Messages API and to what is compatible
// with it. It is the only package that may import anthropic-sdk-go.
//
// The SDK writes the requests and frames the events; it gets no retries and nothing
// of the environment. Below it lies an HTTP layer of our own (wire), which levels
// what compatible servers send, and above it an accumulator of our own: the SDK's
// turns arguments that are no JSON into {}, and a lost call is worse than a failed
// one. Thoughts and their signatures are kept word for word and in their place,
// and go back only to the model that had them.
//
// A call either returns a whole answer or an *llm.Error, never half of either. The
// same request is never sent twice; one whose form the endpoint refused (thoughts
// it does not take back, a way of asking for JSON that it does not know) is sent
// again without that.
//
// The package must not retry, must not read the environment (a proxy excepted),
// must not log, and must not let a key into an error.
package anthropic
