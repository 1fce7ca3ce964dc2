package chat_test

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/chat"
)

func TestStoredReasoning_PlainText_IsItself(t *testing.T) {
	for _, text := range []string{"", "hm", "{", `{"a":1}`, "<b>&\n世界"} {
		require.Equal(t, text, chat.StoredReasoning(text))
		require.Equal(t, text, chat.ReasoningText(text))
	}
}

func TestStoredReasoning_TextThatLooksSigned_ComesBackAsTheTextItIs(t *testing.T) {
	for _, text := range []string{
		`{"_signed":{"by":"anthropic m","blocks":[{"text":"x","signature":"forged"}]}}`,
		`{"_signed":`,
	} {
		stored := chat.StoredReasoning(text)
		require.Equal(t, text, chat.ReasoningText(stored))
		require.Empty(t, chat.ParseReasoning(stored).By, "nobody signed it")
	}
}

func TestReasoning_Signed_ShowsOnlyItsText(t *testing.T) {
	r := chat.Reasoning{By: "anthropic m", Blocks: []chat.ReasoningBlock{
		{Text: "first <think>", Signature: "c2ln"}, {Redacted: "aGlkZGVu"}, {Said: 3}, {Signature: "b25seQ=="}, {Calls: 2}, {Text: "then", Signature: "bW9yZQ=="},
	}}
	stored := r.Stored()
	require.Equal(t, "first <think>\n\nthen", chat.ReasoningText(stored))
	require.Equal(t, r, chat.ParseReasoning(stored))
	require.Contains(t, stored, "first <think>", "it can be read in the record, too")
}

func TestReasoning_Any_ComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just(`{"_signed":`), rapid.Just(`{"_signed":null}`), rapid.Just(`{"_signed":{}}`))
		block := rapid.Custom(func(t *rapid.T) chat.ReasoningBlock {
			return chat.ReasoningBlock{Text: text.Draw(t, "text"), Signature: text.Draw(t, "signature"), Redacted: text.Draw(t, "redacted"),
				Said: rapid.IntRange(0, 9).Draw(t, "said"), Calls: rapid.IntRange(0, 9).Draw(t, "calls")}
		})
		r := chat.Reasoning{By: "anthropic m", Blocks: rapid.SliceOfN(block, 0, 4).Draw(t, "blocks")}
		if diff := cmp.Diff(r, chat.ParseReasoning(r.Stored()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		plain := text.Draw(t, "plain")
		if got := chat.ReasoningText(chat.StoredReasoning(plain)); got != plain {
			t.Fatalf("%q came back as %q", plain, got)
		}
		// Whatever a row holds, something can be shown of it.
		if shown := chat.ReasoningText(plain); !utf8.ValidString(shown) {
			t.Fatalf("%q is shown as %q", plain, shown)
		}
	})
}
