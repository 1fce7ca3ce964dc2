package feishu

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"picobot/internal/brief"
	"picobot/internal/chat"
	"picobot/internal/text"
	"picobot/store"
)

const (
	working     = "Typing" // the reaction
	maxLines    = 8        // of tools on a card
	maxStreamed = 1500     // characters of an answer that streams in
	maxLine     = 200      // characters of one tool's line
)

// mark puts the reaction on the message that a turn answers.
func (a *App) mark(ctx context.Context, turn store.Turn) {
	to, err := a.target(ctx, store.Outbound{Origin: turn.ID, ChatID: chatOf(turn)})
	if err != nil || to.replyTo == "" {
		return
	}
	if err := a.opts.Record.BeginReaction(ctx, turn.ID, to.replyTo); err != nil {
		return
	}
	if _, err := a.react(ctx, turn.ID, to.replyTo); err != nil {
		a.log.Debug("a message cannot be marked", "turn", turn.ID, "error", err)
	}
}

func chatOf(turn store.Turn) string {
	key, err := chat.ParseSessionID(turn.SessionID)
	if err != nil {
		return ""
	}
	return key.ChatID
}

func (a *App) react(ctx context.Context, turnID, messageID string) (id string, err error) {
	var out struct {
		Data struct {
			ID string `json:"reaction_id"`
		} `json:"data"`
	}
	err = a.api.call(ctx, http.MethodPost, "/open-apis/im/v1/messages/"+url.PathEscape(messageID)+"/reactions", nil,
		object{"reaction_type": object{"emoji_type": working}}, &out)
	if err == nil {
		err = a.opts.Record.ReactionShown(ctx, turnID, out.Data.ID)
	}
	return out.Data.ID, err
}

// unmark takes the reaction away. It reports false when it has to be tried again.
func (a *App) unmark(ctx context.Context, turnID string) bool {
	r, err := a.opts.Record.ReactionOf(ctx, turnID)
	if err != nil {
		return errors.Is(err, store.ErrNotFound)
	}
	if r.ReactionID == "" {
		// It may be there: the same one again is answered with its id.
		r.ReactionID, err = a.react(ctx, turnID, r.MessageID)
	}
	if err == nil {
		err = a.api.call(ctx, http.MethodDelete, "/open-apis/im/v1/messages/"+url.PathEscape(r.MessageID)+"/reactions/"+url.PathEscape(r.ReactionID), nil, nil, nil)
	}
	if err != nil && (ctx.Err() != nil || classOf(err) == later || classOf(err) == unknown) {
		return false
	}
	return a.opts.Record.ReactionGone(ctx, turnID) == nil
}

// draw shows how a running turn gets on, on a card of its own.
func (a *App) draw(ctx context.Context, turn store.Turn, t *shown) {
	lines, err := a.opts.Record.ToolLines(ctx, turn.ID, maxLines)
	if err != nil {
		return
	}
	if len(lines) == 0 && a.opts.Now().Sub(time.UnixMilli(turn.StartedAt)) < a.opts.Timing.Card {
		return // the answer may be quicker
	}
	words := a.progress(lines, t.text)
	if words == t.drawn {
		return
	}
	t.at = a.opts.Now()
	switch err := a.drawCard(ctx, turn, words); {
	case err == nil:
		t.drawn = words
	case errors.Is(err, store.ErrTurnEnded):
	case !isFeishus(err) || classOf(err) == later || classOf(err) == unknown:
		a.log.Debug("how a turn gets on is not shown for now", "turn", turn.ID, "error", err)
	default:
		a.log.Info("how a turn gets on cannot be shown", "turn", turn.ID, "error", err)
		t.given = true
	}
}

// progress is the text of a card while its turn runs.
func (a *App) progress(lines []store.ToolLine, streamed string) string {
	var out []string
	for _, l := range lines {
		icon := map[chat.ToolStatus]string{"": "⏳", chat.ToolClaimed: "⏳", chat.ToolCompleted: "✅", chat.ToolFailed: "❌", chat.ToolUnknown: "❔"}[l.Status]
		out = append(out, icon+" "+brief.Cut(strings.Join(strings.Fields(a.opts.Summarize(l.Name, l.Arguments)), " "), maxLine))
	}
	if r := []rune(strings.TrimSpace(streamed)); len(r) > 0 {
		tail := string(r[max(0, len(r)-maxStreamed):])
		if len(r) > maxStreamed {
			tail = "…" + tail
		}
		out = append(out, "", tail)
	} else {
		out = append(out, "", "*"+a.opts.Texts.Say(text.FeishuWorking{})+"*")
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// drawCard paints the turn's card, and makes it when there is none. It has the uuid of
// the answer's first message, because it is going to be that.
func (a *App) drawCard(ctx context.Context, turn store.Turn, words string) error {
	release, err := a.locks.take(ctx, turn.ID)
	if err != nil {
		return err
	}
	defer release()
	k := store.PieceKey{Origin: turn.ID}
	before, err := a.opts.Record.BeginProgress(ctx, turn.ID) // not once the turn has ended
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if before.ExternalID != "" {
		if !before.Progress {
			return nil
		}
		return a.redraw(ctx, turn, before.ExternalID, words)
	}
	if before.TriedAt != 0 && a.opts.Now().Sub(time.UnixMilli(before.TriedAt)) > a.opts.Timing.Unknown {
		return nil // whoever sends the answer looks for it
	}
	to, err := a.target(ctx, store.Outbound{Origin: turn.ID, ChatID: chatOf(turn)})
	if err != nil {
		return err
	}
	to.careful = before.TriedAt != 0
	sent, err := a.put(ctx, &to, uuid(a.opts.AppID, k.Origin, k.Part, k.Piece, before.Generation), "interactive", plainOrMarkdown(words))
	if err != nil {
		return a.notSent(ctx, k, before, err)
	}
	if err := a.opts.Record.PieceShown(ctx, k, sent.ID, false); err != nil || before.TriedAt == 0 {
		return err
	}
	// The card may be that of the try before, and say what was so then.
	return a.redraw(ctx, turn, sent.ID, words)
}

// redraw changes what a card says that is there.
func (a *App) redraw(ctx context.Context, turn store.Turn, id, words string) error {
	if err := a.patch(ctx, chatOf(turn), id, plainOrMarkdown(words)); err != nil {
		return err
	}
	return a.overtaken(ctx, turn, id)
}

// plainOrMarkdown is a card of text that may be cut anywhere: where a table or a code
// block is open nothing is read into it.
func plainOrMarkdown(words string) string {
	if strings.Contains(words, "```") || strings.Contains(words, "|") {
		return plainCard(words)
	}
	return card(words)
}

// overtaken paints the answer again when another process has painted it while this
// one was painting something older over it.
func (a *App) overtaken(ctx context.Context, turn store.Turn, id string) error {
	p, err := a.opts.Record.Piece(ctx, store.PieceKey{Origin: turn.ID})
	if err != nil || p.Progress {
		return err
	}
	o, err := a.opts.Record.TurnReply(ctx, turn.ID)
	if err != nil {
		return err
	}
	if pieces := split(o.Content, messageLimits); len(pieces) > 0 {
		return a.paint(ctx, o.ChatID, id, pieces[0])
	}
	return nil
}

// conclude ends what is shown of a turn that has ended, and reports whether that is
// done. The answer of one that has an answer becomes its card's text by being sent.
func (a *App) conclude(ctx context.Context, turn store.Turn) bool {
	if !a.unmark(ctx, turn.ID) {
		return ctx.Err() != nil
	}
	if turn.Status != chat.TurnCancelled {
		return true
	}
	release, err := a.locks.take(ctx, turn.ID)
	if err != nil {
		return true
	}
	defer release()
	k := store.PieceKey{Origin: turn.ID}
	p, err := a.opts.Record.Piece(ctx, k)
	if err != nil || !p.Progress || (p.ExternalID == "" && p.TriedAt == 0) {
		return err == nil || errors.Is(err, store.ErrNotFound)
	}
	to, err := a.target(ctx, store.Outbound{Origin: turn.ID, ChatID: chatOf(turn)})
	if err == nil {
		_, err = a.sendPiece(ctx, k, &to, a.opts.Texts.Say(text.TurnCancelled{}))
	}
	if err != nil {
		a.log.Info("a card still says that its turn runs", "turn", turn.ID, "error", err)
	}
	// What may still work out is tried again: with the next look, or the next start.
	return err == nil || (isFeishus(err) && classOf(err) != later)
}
