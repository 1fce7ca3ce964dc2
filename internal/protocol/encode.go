package protocol

import (
	"bytes"
	"encoding/json"
)

// Encode writes a frame of the server. A frame that cannot be written (only a
// Command whose Data is no JSON) becomes an error frame: the peer must never be
// left waiting for an answer.
func Encode(f ServerFrame) []byte {
	b, err := encode(f.frameType(), f)
	if err != nil {
		b, _ = encode("error", Error{Code: CodeInternal, Message: "the answer could not be written as JSON"})
	}
	return b
}

// EncodeClient writes a frame of a client.
func EncodeClient(f ClientFrame) []byte {
	// Client frames hold strings and numbers only: nothing in them can fail.
	b, _ := encode(f.clientFrameType(), f)
	return b
}

// encode writes v, a struct, as an object that starts with its type.
func encode(typ string, v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString(`{"type":"` + typ + `",`)
	head := buf.Len()
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // frames are not put into HTML, and code is full of < and >
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// b is `{"type":"x",{...}`: the inner brace goes, and the comma too when v has no fields.
	if string(b[head:]) == "{}" {
		return append(b[:head-1], '}'), nil
	}
	return append(b[:head], b[head+1:]...), nil
}
