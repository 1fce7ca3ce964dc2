package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
)

func TestSessionID_AnyParts_ComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-z:%/A]{1,12}`).Filter(func(s string) bool { return !strings.Contains(s, "%3A") })
		key := chat.SessionKey{Channel: part.Draw(t, "channel"), ChatID: part.Draw(t, "chat"), DialogID: part.Draw(t, "dialog")}
		back, err := chat.ParseSessionID(key.ID())
		if err != nil || back != key {
			t.Fatalf("%+v became %q became %+v (%v)", key, key.ID(), back, err)
		}
	})
	require.Equal(t, "cli:a%3Ab:c", chat.SessionKey{Channel: "cli", ChatID: "a:b", DialogID: "c"}.ID())
}

func TestParseSessionID_Malformed_IsRefused(t *testing.T) {
	for _, id := range []string{"", "cli", "cli:a", "cli::b", ":a:b", "cli:a:b:c"} {
		_, err := chat.ParseSessionID(id)
		require.Error(t, err, id)
	}
}

func TestStoredArguments_AreAlwaysAnObjectAndRawOnesComeBack(t *testing.T) {
	for raw, stored := range map[string]string{
		"":               "{}",
		` {"a": 1} `:     `{"a": 1}`,
		`{"a":`:          `{"_unparsed":"{\"a\":"}`,
		`"text"`:         `{"_unparsed":"\"text\""}`,
		"\xff":           `{"_unparsed":"�"}`,
		`{"a":1}{"b":2}`: `{"_unparsed":"{\"a\":1}{\"b\":2}"}`,
	} {
		require.Equal(t, stored, chat.StoredArguments(raw))
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.String().Draw(t, "raw")
		stored := chat.StoredArguments(raw)
		var object map[string]any
		if err := json.Unmarshal([]byte(stored), &object); err != nil {
			t.Fatal(err)
		}
		if back := chat.RawArguments(stored); strings.TrimSpace(raw) != "" && strings.TrimSpace(back) != strings.TrimSpace(strings.ToValidUTF8(raw, "\uFFFD")) {
			t.Fatalf("%q came back as %q", raw, back)
		}
	})
}

func TestRawArguments_AnObjectOfTheModelsOwn_StaysAsItIs(t *testing.T) {
	for _, own := range []string{`{"a":"_unparsed"}`, `{"_unparsed":1}`, `{"_unparsed":"x","b":1}`} {
		require.Equal(t, own, chat.RawArguments(own))
	}
}
