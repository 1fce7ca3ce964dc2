package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/store"
)

func TestBeginPiece_RemembersSinceWhenItMayBeThere(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	k := store.PieceKey{Origin: "o", Part: 1, Piece: 2}
	before, err := s.BeginPiece(ctx, k)
	require.NoError(t, err)
	require.Equal(t, store.Piece{PieceKey: k}, before)
	first, err := s.BeginPiece(ctx, k)
	require.NoError(t, err)
	require.NotZero(t, first.TriedAt)
	again, err := s.BeginPiece(ctx, k)
	require.NoError(t, err)
	require.Equal(t, first.TriedAt, again.TriedAt, "the first attempt counts")
	require.NoError(t, s.PieceNotSent(ctx, k))
	before, err = s.BeginPiece(ctx, k)
	require.NoError(t, err)
	require.Zero(t, before.TriedAt)
	require.NoError(t, s.PieceShown(ctx, k, "om_1", true))
	before, err = s.BeginPiece(ctx, k)
	require.NoError(t, err)
	require.Equal(t, "om_1", before.ExternalID)
	require.Zero(t, before.TriedAt)
	known, err := s.KnownPieces(ctx, []string{"om_1", "om_2"})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"om_1": true, "om_2": false}, known)
	require.NoError(t, s.PieceLost(ctx, k))
	before, err = s.Piece(ctx, k)
	require.NoError(t, err)
	require.Equal(t, store.Piece{PieceKey: k, Generation: 1}, before)
}

// Once a turn has ended its reply may be on its way: nothing else may be shown for it.
func TestBeginProgress_OnlyWhileTheTurnRuns(t *testing.T) {
	s := open(t)
	m := message("m1", "hello")
	m.Channel = "feishu"
	turn := accept(t, s, m)
	_, err := s.BeginProgress(t.Context(), turn.ID)
	require.ErrorIs(t, err, store.ErrTurnEnded)
	begin(t, s, turn.SessionID)
	_, err = s.BeginProgress(t.Context(), turn.ID)
	require.NoError(t, err)
	p, err := s.Piece(t.Context(), store.PieceKey{Origin: turn.ID})
	require.NoError(t, err)
	require.True(t, p.Progress)
	showing, err := s.Showing(t.Context(), "feishu")
	require.NoError(t, err)
	require.Len(t, showing, 1)
	answer(t, s, turn.ID, 1, say("hi"))
	_, err = s.BeginProgress(t.Context(), turn.ID)
	require.ErrorIs(t, err, store.ErrTurnEnded)
	showing, err = s.Showing(t.Context(), "feishu")
	require.NoError(t, err)
	require.Len(t, showing, 1, "its card still says that it runs")
	require.NoError(t, s.PieceShown(t.Context(), store.PieceKey{Origin: turn.ID}, "om_1", true))
	showing, err = s.Showing(t.Context(), "feishu")
	require.NoError(t, err)
	require.Empty(t, showing)
}

func TestUnprepared_TurnWaitsUntilItsMessageIsWhole(t *testing.T) {
	s := open(t)
	m := message("m1", "[image]")
	m.Unprepared = true
	turn := accept(t, s, m)
	for range 2 {
		p := begin(t, s, turn.SessionID)
		require.True(t, p.Prepare)
		require.Equal(t, chat.TurnQueued, p.Turn.Status)
	}
	_, err := s.Unprepared(t.Context(), turn.ID)
	require.NoError(t, err)
	media := []chat.MediaRef{{Type: "image", Path: "x.png"}}
	require.NoError(t, s.Prepared(t.Context(), turn.ID, "[image] of a cat", media))
	require.NoError(t, s.Prepared(t.Context(), turn.ID, "again", nil), "it is whole already")
	p := begin(t, s, turn.SessionID)
	require.False(t, p.Prepare)
	require.Equal(t, 1, p.Turn.Claims, "fetching was progress")
	rows, err := s.Messages(t.Context(), turn.SessionID, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "[image] of a cat", rows[len(rows)-1].Content)
	require.Equal(t, media, rows[len(rows)-1].Media)
	_, err = s.Unprepared(t.Context(), turn.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAcceptLate_IsOnRecordAndNeverRuns(t *testing.T) {
	s := open(t)
	for i := range 2 {
		got, err := s.AcceptLate(t.Context(), message("m1", "hello"), "too_old", "too old")
		require.NoError(t, err)
		require.Equal(t, i == 1, got.Duplicate)
		require.Equal(t, chat.TurnFailed, got.Turn.Status)
		p, err := s.BeginTurn(t.Context(), store.Begin{SessionID: got.SessionID})
		require.NoError(t, err)
		require.Nil(t, p)
	}
	require.Empty(t, unfinished(t, s, time.Duration(0)))
}

func TestReaction_IsRememberedFromBeforeItIsThere(t *testing.T) {
	s := open(t)
	turn := accept(t, s, message("m1", "hello"))
	require.NoError(t, s.BeginReaction(t.Context(), turn.ID, "om_1"))
	r, err := s.ReactionOf(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Equal(t, store.Reaction{TurnID: turn.ID, MessageID: "om_1"}, r)
	require.NoError(t, s.ReactionShown(t.Context(), turn.ID, "rc_1"))
	r, err = s.ReactionOf(t.Context(), turn.ID)
	require.NoError(t, err)
	require.Equal(t, "rc_1", r.ReactionID)
	require.NoError(t, s.ReactionGone(t.Context(), turn.ID))
	_, err = s.ReactionOf(t.Context(), turn.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
}
