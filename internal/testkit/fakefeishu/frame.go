package fakefeishu

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is what the long connection carries (pbbp2.Frame, proto2).
type frame struct {
	seqID, logID uint64
	service      int32
	method       int32 // control or data
	headers      [][2]string
	payload      []byte
}

const (
	methodControl = 0
	methodData    = 1
)

func (f frame) header(key string) string {
	for _, h := range f.headers {
		if h[0] == key {
			return h[1]
		}
	}
	return ""
}

func (f frame) encode() []byte {
	var b []byte
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendTag(b, field, protowire.VarintType)
		b = protowire.AppendVarint(b, v)
	}
	number(1, f.seqID)
	number(2, f.logID)
	number(3, uint64(f.service))
	number(4, uint64(f.method))
	for _, h := range f.headers {
		var one []byte
		one = protowire.AppendTag(one, 1, protowire.BytesType)
		one = protowire.AppendString(one, h[0])
		one = protowire.AppendTag(one, 2, protowire.BytesType)
		one = protowire.AppendString(one, h[1])
		b = protowire.AppendTag(b, 5, protowire.BytesType)
		b = protowire.AppendBytes(b, one)
	}
	if f.payload != nil {
		b = protowire.AppendTag(b, 8, protowire.BytesType)
		b = protowire.AppendBytes(b, f.payload)
	}
	return b
}

var errFrame = errors.New("this is no frame")

func decodeFrame(b []byte) (f frame, err error) {
	err = fields(b, func(field protowire.Number, n uint64, v []byte) error {
		switch field {
		case 1:
			f.seqID = n
		case 2:
			f.logID = n
		case 3:
			f.service = int32(n)
		case 4:
			f.method = int32(n)
		case 5:
			var h [2]string
			if err := fields(v, func(field protowire.Number, _ uint64, v []byte) error {
				if field == 1 || field == 2 {
					h[field-1] = string(v)
				}
				return nil
			}); err != nil {
				return err
			}
			f.headers = append(f.headers, h)
		case 8:
			f.payload = v
		}
		return nil
	})
	return f, err
}

// fields calls do for each field of a protobuf message.
func fields(b []byte, do func(field protowire.Number, n uint64, v []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errFrame
		}
		b = b[n:]
		var number uint64
		var value []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return errFrame
		}
		b = b[n:]
		if err := do(field, number, value); err != nil {
			return err
		}
	}
	return nil
}
