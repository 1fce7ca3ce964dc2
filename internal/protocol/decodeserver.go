package protocol

import (
	"encoding/json"
	"fmt"
)

// DecodeServer reads a frame of the server, for clients. A frame of a type that
// this build does not know is nil without an error: a newer server may send it.
func DecodeServer(b []byte) (ServerFrame, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("read a frame of the gateway: %w", err)
	}
	switch head.Type {
	case "welcome":
		return decodeAs[Welcome](b)
	case "accepted":
		return decodeAs[Accepted](b)
	case "turn":
		return decodeAs[Turn](b)
	case "delta":
		return decodeAs[Delta](b)
	case "tool":
		return decodeAs[Tool](b)
	case "message":
		return decodeAs[Message](b)
	case "notice":
		return decodeAs[Notice](b)
	case "command":
		return decodeAs[Command](b)
	case "error":
		return decodeAs[Error](b)
	case "pong":
		return decodeAs[Pong](b)
	}
	return nil, nil
}

func decodeAs[F ServerFrame](b []byte) (ServerFrame, error) {
	var f F
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read a frame %q of the gateway: %w", f.frameType(), err)
	}
	return f, nil
}
