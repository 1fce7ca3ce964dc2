package protocol

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walked reads an object the way members does, for comparison with encoding/json.
func walked(t *testing.T, object []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for key, value := range members(object) {
		var name string
		require.NoError(t, json.Unmarshal(key, &name))
		require.True(t, json.Valid(value), "%q", value)
		out[name] = string(value)
	}
	return out
}

func FuzzWalkSeesWhatEncodingJSONSees(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b":[1,{"c":"]}"}] } `, `{"a":"\"","\u0061":2}`, `{"":{},"x":-1e5,"y":null,"z":"\\"}`, `{"a":[],"a":[[]]}`,
		`[]`, `[1,"a,]",{"b":[ ]} , true]`, `{"a\\":"b\\\\\"","c":{"d":"}"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		switch {
		case !json.Valid(b):
		case isObject(b):
			var raw map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(b, &raw))
			want := map[string]string{}
			for k, v := range raw {
				want[k] = string(v)
			}
			require.Equal(t, want, walked(t, b))
		case isList(b):
			var raw []json.RawMessage
			require.NoError(t, json.Unmarshal(b, &raw))
			i := 0
			for v := range elements(b) {
				require.Equal(t, string(raw[i]), string(v))
				i++
			}
			require.Equal(t, len(raw), i)
		}
	})
}

func TestFrameOfManySmallThingsTakesNoMoreThanItIsLong(t *testing.T) {
	const size = 4 << 20
	for name, tt := range map[string]struct{ frame, code string }{
		"keys":        {"{" + strings.Repeat(`"a":0,`, size/6) + `"type":"dance"}`, CodeUnknownType},
		"attachments": {`{"type":"message","id":"1","content":"","media":[` + strings.Repeat("{},", size/3) + "{}]}", CodeBadFrame},
		"lists":       {`{"type":"dance","a":[` + strings.Repeat("[],", size/3) + "[]]}", CodeUnknownType},
	} {
		b := []byte(tt.frame)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(b)
		runtime.ReadMemStats(&after)
		require.NotNil(t, err, name)
		require.Equal(t, tt.code, err.Code, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size), name)
	}
}
