package anthropic

import (
	"picobot/internal/llm"
	"picobot/internal/llm/endpoint"
)

// output is a way to get JSON of a schema.
type output int

const (
	outputFormat output = iota // the endpoint's structured outputs
	outputTool                 // a call that the model has to make
	outputWords                // asked for in words
)

// form is how a request is put. There is more than one way to ask for some things,
// and only the endpoint knows which it takes.
type form struct {
	output     output
	noThoughts bool
}

func (p *Provider) firstForm(req llm.Request) form {
	var f form
	if known, ok := p.outputs.Load(req.Model.ID); ok && req.Schema != nil {
		f.output = known.(output)
	}
	return f
}

// without returns the form to try after err, and whether there is one: the endpoint
// refused the request for something that can be left out.
func (f form) without(req llm.Request, err error) (form, bool) {
	says := func(words ...string) bool { return endpoint.Refuses(err, words...) }
	switch {
	case req.Schema != nil && f.output == outputFormat && says("output_config", "output_format", "structured output", "schema"):
		f.output = outputTool
		return f, true
	case req.Schema != nil && f.output == outputTool && says("tool"):
		f.output = outputWords
		return f, true
	case !f.noThoughts && hasThoughts(req) && says("thinking", "signature"):
		f.noThoughts = true
		return f, true
	}
	return f, false
}

// read returns the answer as the request wanted it.
func (f form) read(schema *llm.Schema, resp llm.Response) llm.Response {
	switch {
	case schema == nil:
	case f.output == outputTool:
		for _, c := range resp.ToolCalls {
			if c.Function.Name == schema.Name {
				resp.Content = c.Function.Arguments
			}
		}
		resp.ToolCalls = nil
		if resp.Stop == llm.StopToolCalls {
			resp.Stop = llm.StopEnd
		}
	case f.output == outputWords:
		resp.Content = llm.JSONIn(resp.Content)
	}
	return resp
}
