package feishu

import (
	"encoding/json"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// sorter tells frames that the SDK can do something with from those it would refuse.
type sorter struct {
	parts map[string]*parts // of events that come in several frames, by their ids
}

// parts is an event as far as it has come.
type parts struct {
	raw      [][]byte
	payloads [][]byte
	missing  int
}

const (
	maxFrames = 1024 // of one event
	maxEvents = 64   // that have begun and not ended: an end that never came costs no more
)

func newSorter() *sorter { return &sorter{parts: map[string]*parts{}} }

// sort returns the frames to hand on now, or the acknowledgement of an event that is
// nobody's, with the reason. Frames of an event that is not whole yet are kept.
func (s *sorter) sort(raw []byte) (on [][]byte, ack []byte, why string) {
	var f larkws.Frame
	if f.Unmarshal(raw) != nil {
		return nil, nil, "" // none: there is nothing to answer to
	}
	h := larkws.Headers(f.Headers)
	if larkws.FrameType(f.Method) != larkws.FrameTypeData || larkws.MessageType(h.GetString(larkws.HeaderType)) != larkws.MessageTypeEvent {
		return [][]byte{raw}, nil, ""
	}
	on, payload := [][]byte{raw}, f.Payload
	if sum := h.GetInt(larkws.HeaderSum); sum > 1 {
		if on, payload = s.join(h.GetString(larkws.HeaderMessageID), sum, h.GetInt(larkws.HeaderSeq), raw, f.Payload); on == nil {
			return nil, nil, ""
		}
	}
	if why = refusable(payload); why == "" {
		return on, nil, ""
	}
	h.Add(larkws.HeaderBizRt, "0")
	f.Headers, f.Payload = h, []byte(`{"code":200,"headers":null,"data":null}`)
	ack, err := f.Marshal()
	if err != nil {
		panic(err) // it was unmarshalled
	}
	return nil, ack, why
}

// join adds a part of an event. nil = more have to come.
func (s *sorter) join(id string, sum, seq int, raw, payload []byte) (frames [][]byte, whole []byte) {
	if sum > maxFrames || seq < 0 || seq >= sum {
		return nil, nil
	}
	p := s.parts[id]
	if p == nil || len(p.raw) != sum {
		if len(s.parts) >= maxEvents {
			clear(s.parts) // Feishu sends again what is not acknowledged
		}
		p = &parts{raw: make([][]byte, sum), payloads: make([][]byte, sum), missing: sum}
		s.parts[id] = p
	}
	if p.raw[seq] == nil {
		p.missing--
	}
	p.raw[seq], p.payloads[seq] = raw, payload
	if p.missing > 0 {
		return nil, nil
	}
	delete(s.parts, id)
	for _, part := range p.payloads {
		whole = append(whole, part...)
	}
	return p.raw, whole
}

// refusable says why the SDK would refuse an event for ever, "" when it would not.
func refusable(payload []byte) string {
	var e struct {
		Header struct {
			Type string `json:"event_type"`
		} `json:"header"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return "it cannot be read: " + err.Error()
	}
	if e.Header.Type != receiveEvent {
		return "nobody here listens to its type: " + e.Header.Type
	}
	if err := json.Unmarshal(payload, new(larkim.P2MessageReceiveV1)); err != nil {
		return "it cannot be read: " + err.Error()
	}
	return ""
}
