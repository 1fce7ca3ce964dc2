package endpoint

import (
	"testing"
	"unicode/utf8"
)

func FuzzErrorReply(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"m","type":"t","code":"c"}}`, `{"error":"x"}`, `[{"error":{"code":1}}]`, `{"detail":[{}]}`, "<p>", "", "\xff"} {
		f.Add(seed, 400)
	}
	f.Fuzz(func(t *testing.T, body string, status int) {
		got := FailureOf(status, "", []byte(body))
		if got.Kind == "" || !utf8.ValidString(cut(got.Message, maxMessageBytes)) || len(cut(got.Message, maxMessageBytes)) > maxMessageBytes {
			t.Fatalf("%+v", got)
		}
	})
}
