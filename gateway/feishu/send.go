package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"picobot/activities"
	"picobot/internal/chat"
	"picobot/internal/text"
	"picobot/store"
)

// target is where a message goes.
type target struct {
	chatID   string
	replyTo  string // "" = to the chat itself
	thread   bool
	threadID string // "" = there is none yet
	// careful: an earlier try may be there as a reply. Whether Feishu knows its uuid when
	// it is sent to the chat instead, its documents do not say.
	careful bool
}

// errMayHaveBeenSent: nobody can say whether people see it.
var errMayHaveBeenSent = errors.New("may have been sent: feishu did not say, and it is not known by its id any more")

// errNeverAnswered: it is not there, and trying once more is not going to change that.
var errNeverAnswered = errors.New("was not sent: feishu answered no try for hours, though it let the chat be read back; something on the way may keep this message back")

// mostAnew bounds how often a message is begun anew because it was not found after
// Timing.Unknown without an answer.
const mostAnew = 4

// Send implements activities.Sender: it shows a row of the outbox, as one message or
// several, each once.
func (a *App) Send(ctx context.Context, o store.Outbound) (externalID string, err error) {
	pieces := split(o.Content, messageLimits)
	if len(pieces) == 0 {
		return "", fmt.Errorf("%w: the message is empty", activities.ErrRefused)
	}
	release, err := a.locks.take(ctx, o.Origin)
	if err != nil {
		return "", err
	}
	defer release()
	to, err := a.target(ctx, o)
	if err != nil {
		return "", err
	}
	for i, words := range pieces {
		id, err := a.sendPiece(ctx, store.PieceKey{Origin: o.Origin, Part: o.Part, Piece: i}, &to, words)
		if err != nil {
			return "", a.outcome(ctx, o, i, &to, err)
		}
		if i == 0 {
			externalID = id
		}
	}
	return externalID, nil
}

// toChat is for a message that cannot be answered any more.
func (to *target) toChat() { to.replyTo, to.thread, to.careful = "", false, false }

// target finds the message that a row answers.
func (a *App) target(ctx context.Context, o store.Outbound) (target, error) {
	to := target{chatID: o.ChatID}
	m, err := a.opts.Record.Asked(ctx, o)
	if errors.Is(err, store.ErrNotFound) {
		return to, nil
	}
	if err != nil {
		return to, err
	}
	if m.Channel == chat.ChannelFeishu && m.ChatID == o.ChatID && strings.HasPrefix(m.ExternalID, "om_") {
		d := detailOf(m.Metadata)
		to.replyTo, to.threadID, to.thread = m.ExternalID, d.ThreadID, d.ThreadID != "" || a.opts.ReplyInThread
	}
	return to, nil
}

// outcome says of an error what activities must know.
func (a *App) outcome(ctx context.Context, o store.Outbound, piece int, to *target, err error) error {
	if stopped(ctx, err) {
		return err
	}
	if errors.Is(err, errMayHaveBeenSent) || errors.Is(err, errNeverAnswered) {
		a.log.Error("a message is given up", "outbound", o.ID, "chat", o.ChatID, "error", err)
		return fmt.Errorf("%w: %w", activities.ErrRefused, err)
	}
	if !isFeishus(err) {
		return err
	}
	switch c := classOf(err); c {
	case unknown:
		return err
	case later:
		return &activities.LaterError{After: retryAfter(err), Why: err.Error()}
	case forbidden, content:
		a.sayRefused(ctx, store.PieceKey{Origin: o.Origin, Part: o.Part, Piece: piece}, to, err)
	}
	a.log.Error("feishu does not take a message", "outbound", o.ID, "chat", o.ChatID, "error", err)
	return fmt.Errorf("%w: %w", activities.ErrRefused, err)
}

// isFeishus reports an error that comes from asking Feishu, not from the record.
func isFeishus(err error) bool {
	_, answered := errors.AsType[*Error](err)
	_, notAsked := errors.AsType[*notAskedError](err)
	_, paused := errors.AsType[*pausedError](err)
	return answered || notAsked || paused
}

// sayRefused tells the chat that there is an answer which it is not shown. It is a
// courtesy: the row says what happened.
func (a *App) sayRefused(ctx context.Context, k store.PieceKey, to *target, why error) {
	e, _ := errors.AsType[*Error](why)
	if _, err := a.sendPiece(ctx, k, to, a.opts.Texts.Say(text.FeishuRefused{Code: fmt.Sprint(e.Code)})); err != nil {
		a.log.Warn("the chat cannot be told either", "chat", to.chatID, "error", err)
	}
}

// sendPiece shows one message and returns its id.
func (a *App) sendPiece(ctx context.Context, k store.PieceKey, to *target, words string) (string, error) {
	before, err := a.begin(ctx, k, to)
	if err != nil {
		return "", err
	}
	if before.ExternalID != "" {
		if !before.Progress {
			return before.ExternalID, nil
		}
		err := a.paint(ctx, to.chatID, before.ExternalID, words)
		if err == nil {
			return before.ExternalID, a.opts.Record.PieceShown(ctx, k, before.ExternalID, true)
		}
		switch classOf(err) {
		case recalled:
		case content, setup, noThread: // it may be sent but not changed: without its scope, for one
			a.log.Warn("a card cannot be made to show its answer: that is sent as a message of its own", "chat", to.chatID, "error", err)
			a.remove(ctx, before.ExternalID)
		default:
			return "", err
		}
		if before, err = a.anew(ctx, k); err != nil {
			return "", err
		}
	}
	to.careful = before.TriedAt != 0
	sent, err := a.post(ctx, to, uuid(a.opts.AppID, k.Origin, k.Part, k.Piece, before.Generation), words, forms)
	if classOf(err) == recalled && to.replyTo != "" {
		return a.lookFirst(ctx, k, to, before, words)
	}
	if err != nil {
		return "", a.notSent(ctx, k, before, err)
	}
	if before.Progress && before.TriedAt != 0 && sent.Kind == "interactive" {
		// What shows may be what was shown before: from here on it is a card that is there.
		if err := a.opts.Record.PieceShown(ctx, k, sent.ID, false); err != nil {
			return "", err
		}
		return a.sendPiece(ctx, k, to, words)
	}
	return sent.ID, a.opts.Record.PieceShown(ctx, k, sent.ID, true)
}

// lookFirst goes on with a message whose answered one is gone, and that may be there
// nevertheless. Where that cannot be seen, its uuid must do.
func (a *App) lookFirst(ctx context.Context, k store.PieceKey, to *target, before store.Piece, words string) (string, error) {
	id, err := a.lookUp(ctx, to, time.UnixMilli(before.TriedAt))
	switch {
	case errors.Is(err, errMayHaveBeenSent):
	case err != nil:
		return "", err
	case id != "":
		if err := a.opts.Record.PieceShown(ctx, k, id, !before.Progress); err != nil {
			return "", err
		}
	}
	to.toChat()
	return a.sendPiece(ctx, k, to, words)
}

// begin writes down that a piece is about to be sent. One of which nobody knows for too
// long whether it was is looked for first: Feishu does not know its uuid any more.
func (a *App) begin(ctx context.Context, k store.PieceKey, to *target) (store.Piece, error) {
	before, err := a.opts.Record.BeginPiece(ctx, k)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return before, err
	}
	since := time.UnixMilli(before.TriedAt)
	if before.TriedAt == 0 || a.opts.Now().Sub(since) <= a.opts.Timing.Unknown {
		return before, nil
	}
	id, err := a.lookUp(ctx, to, since)
	switch {
	case err != nil:
		return before, err
	case id == "" && before.Generation >= mostAnew:
		return before, errNeverAnswered
	case id == "":
		return a.anew(ctx, k)
	}
	before.ExternalID = id
	return before, a.opts.Record.PieceShown(ctx, k, id, !before.Progress)
}

// anew begins another message in place of one that is gone.
func (a *App) anew(ctx context.Context, k store.PieceKey) (store.Piece, error) {
	if err := a.opts.Record.PieceLost(ctx, k); err != nil {
		return store.Piece{}, err
	}
	p, err := a.opts.Record.BeginPiece(ctx, k)
	p.TriedAt = 0
	return p, err
}

// notSent records what a failed attempt says about whether the message is there.
func (a *App) notSent(ctx context.Context, k store.PieceKey, before store.Piece, err error) error {
	if refused(err) && before.TriedAt == 0 {
		return errors.Join(err, a.opts.Record.PieceNotSent(context.WithoutCancel(ctx), k))
	}
	return err
}

// sentMessage is a message as Feishu answers when it has it.
type sentMessage struct {
	ID   string `json:"message_id"`
	Kind string `json:"msg_type"`
}

// post sends a text in the first form that is taken.
func (a *App) post(ctx context.Context, to *target, uuid, words string, in []form) (sent sentMessage, err error) {
	for _, f := range in {
		sent, err = a.put(ctx, to, uuid, f.kind, f.content(words))
		if err == nil {
			if sent.Kind == "" {
				sent.Kind = f.kind
			}
			return sent, nil
		}
		if classOf(err) != content {
			return sent, err
		}
		a.log.Info("feishu does not take a message in this form", "form", f.kind, "error", err)
	}
	return sent, err
}

// put sends one content to a target; to is changed where it cannot be answered in that way.
func (a *App) put(ctx context.Context, to *target, uuid, kind, content string) (sentMessage, error) {
	var out struct {
		Data sentMessage `json:"data"`
	}
	for {
		if err := a.wait(ctx, to.chatID); err != nil {
			return out.Data, err
		}
		var err error
		if to.replyTo != "" {
			err = a.api.call(ctx, http.MethodPost, "/open-apis/im/v1/messages/"+url.PathEscape(to.replyTo)+"/reply", nil,
				object{"msg_type": kind, "content": content, "uuid": uuid, "reply_in_thread": to.thread}, &out)
		} else {
			err = a.api.call(ctx, http.MethodPost, "/open-apis/im/v1/messages", url.Values{"receive_id_type": {idType(to.chatID)}},
				object{"receive_id": to.chatID, "msg_type": kind, "content": content, "uuid": uuid}, &out)
		}
		if err == nil && out.Data.ID == "" {
			err = errors.New("feishu's answer names no message")
		}
		a.asked(to.chatID, err)
		switch c := classOf(err); {
		case err == nil:
			return out.Data, nil
		case c == recalled && to.replyTo != "" && !to.careful:
			to.toChat()
		case c == noThread && to.thread:
			to.thread = false
		default:
			return out.Data, err
		}
	}
}

// idType says what kind of id a receiver has. A job may be for a person, who is no
// chat yet.
func idType(id string) string {
	switch {
	case strings.HasPrefix(id, "ou_"):
		return "open_id"
	case strings.HasPrefix(id, "on_"):
		return "union_id"
	case strings.Contains(id, "@"):
		return "email"
	}
	return "chat_id"
}

// wait keeps the distance to what the chat was sent before. Where that is long it
// fails instead: who waits must not keep others from sending.
func (a *App) wait(ctx context.Context, chatID string) error {
	d, ok := a.pace.take(chatID, longWait)
	if !ok {
		return &pausedError{d}
	}
	return sleep(ctx, d)
}

// asked keeps the distance from a request that has been answered, and lets a chat rest
// that Feishu takes nothing for.
func (a *App) asked(chatID string, err error) {
	a.pace.hold(chatID, a.opts.Timing.Spacing)
	if err != nil && classOf(err) == later && isFeishus(err) {
		a.pace.hold(chatID, retryAfter(err))
	}
}

// paint puts a text into a card that is there.
func (a *App) paint(ctx context.Context, chatID, id, words string) error {
	err := a.patch(ctx, chatID, id, card(words))
	if err != nil && classOf(err) == content {
		a.log.Info("feishu does not take a card as it is", "error", err)
		err = a.patch(ctx, chatID, id, plainCard(words))
	}
	return err
}

func (a *App) patch(ctx context.Context, chatID, id, content string) error {
	if err := a.wait(ctx, chatID); err != nil {
		return err
	}
	err := a.api.call(ctx, http.MethodPatch, "/open-apis/im/v1/messages/"+url.PathEscape(id), nil, object{"content": content}, nil)
	a.asked(chatID, err)
	return err
}

// remove takes a message of ours back, if it can.
func (a *App) remove(ctx context.Context, id string) {
	if err := a.api.call(ctx, http.MethodDelete, "/open-apis/im/v1/messages/"+url.PathEscape(id), nil, nil, nil); err != nil {
		a.log.Info("a card that is of no use any more cannot be taken back", "error", err)
	}
}
