package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/store"
)

func TestLargeRows_ReadInPages_ComeOnceAndAFewAtATime(t *testing.T) {
	const turns, size = 6, 200 << 10
	s := open(t)
	var session string
	for i := range turns {
		turn := accept(t, s, message(fmt.Sprintf("m%d", i), strings.Repeat("q", size)))
		session = turn.SessionID
		begin(t, s, session)
		answer(t, s, turn.ID, 1, say(strings.Repeat("a", size)))
	}
	var seen []int64
	take := func(rows []store.Row) {
		t.Helper()
		require.LessOrEqual(t, len(rows), 3, "rows of one page") // the prompt is small
		for _, r := range rows {
			require.True(t, len(seen) == 0 || r.Seq > seen[len(seen)-1])
			seen = append(seen, r.Seq)
		}
	}

	var c store.Cursor
	ended := 0
	for {
		ch, err := s.Changes(t.Context(), session, c)
		require.NoError(t, err)
		take(ch.Rows)
		if len(ch.Turns) > 0 {
			require.Len(t, seen, 2*turns, "turns are told once every row is")
			ended += len(ch.Turns)
		}
		if c = ch.Next; len(ch.Rows) == 0 {
			break
		}
	}
	require.Equal(t, turns, ended)

	seen = nil
	for from := int64(0); ; from = seen[len(seen)-1] {
		rows, err := s.Messages(t.Context(), session, from, 100)
		require.NoError(t, err)
		if len(rows) == 0 {
			break
		}
		take(rows)
	}
	require.Len(t, seen, 1+2*turns) // the prompt too
}
