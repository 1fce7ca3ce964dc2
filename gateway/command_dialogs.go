package gateway

import (
	"errors"
	"strings"
	"unicode"

	"picobot/internal/text"
	"picobot/store"
)

// maxListed is how many dialogs /sessions shows.
const maxListed = 10

// dialogJSON names a dialog in the data of an answer.
type dialogJSON struct {
	SessionID string `json:"session_id"`
	DialogID  string `json:"dialog_id"`
	Title     string `json:"title"`
}

func dialogOf(s store.Session) dialogJSON { return dialogJSON{s.ID, s.DialogID, s.Title} }

// listedJSON is a line of /sessions.
type listedJSON struct {
	dialogJSON
	Number       int   `json:"number"`
	Active       bool  `json:"active"`
	Here         bool  `json:"here"` // where the command was said
	MessageCount int64 `json:"message_count"`
	LastActiveAt int64 `json:"last_active_at"`
}

func runNew(tx *store.CommandTx, in invocation) (outcome, error) {
	sess, err := tx.Open(title(in.args))
	if err != nil {
		return outcome{}, err
	}
	return in.goTo(sess, text.DialogCreated{Title: in.title(sess)})
}

func runSessions(tx *store.CommandTx, in invocation) (outcome, error) {
	list, err := tx.List(maxListed)
	if err != nil {
		return outcome{}, err
	}
	if len(list) == 0 {
		return say(in.words.Say(text.SessionsNone{})).with(map[string]any{"sessions": []listedJSON{}})
	}
	lines, data := []string{in.words.Say(text.SessionsHeading{})}, make([]listedJSON, len(list))
	for i, s := range list {
		here := s.ID == tx.Session.ID
		var line text.Message = text.SessionsItem{Number: i + 1, Title: in.title(s), DialogID: s.DialogID, Messages: int(s.MessageCount)}
		if here {
			line = text.SessionsCurrent{Number: i + 1, Title: in.title(s), DialogID: s.DialogID, Messages: int(s.MessageCount)}
		}
		lines = append(lines, in.words.Say(line))
		data[i] = listedJSON{dialogOf(s), i + 1, s.Active, here, s.MessageCount, s.LastActiveAt}
	}
	return say(strings.Join(append(lines, in.words.Say(text.SessionsHint{})), "\n")).with(map[string]any{"sessions": data})
}

func runUse(tx *store.CommandTx, in invocation) (outcome, error) {
	if in.args == "" {
		return in.misused()
	}
	sess, err := tx.Find(in.args)
	if errors.Is(err, store.ErrNotFound) {
		return refuse(in.words.Say(text.NoSuchDialog{Name: cut(in.args)})), nil
	}
	if err == nil {
		sess, err = tx.Use(sess)
	}
	if err != nil {
		return outcome{}, err
	}
	return in.goTo(sess, text.DialogSwitched{Title: in.title(sess)})
}

func runRename(tx *store.CommandTx, in invocation) (outcome, error) {
	name := title(in.args)
	if name == "" {
		return in.misused()
	}
	if err := tx.Rename(name); err != nil {
		return in.readOnly(err)
	}
	sess := tx.Session
	sess.Title = name
	return say(in.words.Say(text.DialogRenamed{Title: name})).with(dialogOf(sess))
}

func runReset(tx *store.CommandTx, in invocation) (outcome, error) {
	ran, err := tx.Reset(interrupted)
	if err != nil {
		return in.readOnly(err)
	}
	o := say(in.words.Say(text.DialogReset{}))
	o.then = stopThose(ran)
	return o, nil
}

func runDelete(tx *store.CommandTx, in invocation) (outcome, error) {
	next, ran, err := tx.Delete(interrupted)
	if err != nil {
		return in.readOnly(err)
	}
	o, err := in.goTo(next, text.DialogDeleted{Title: in.title(tx.Session), Next: in.title(next)})
	o.then = stopThose(ran)
	return o, err
}

// interrupted is what becomes of the calls of a turn that /reset and /delete end.
var interrupted = store.Finish{
	NotRun:  "Error: the turn ended before this call was run.",
	Unknown: "Unknown outcome: the turn was ended while this call was running.",
}

func stopThose(ran []store.Cancelled) func(*Server) {
	return func(s *Server) {
		for _, c := range ran {
			s.tellStopped(c)
		}
	}
}

// goTo answers a command after which the chat is in another dialog.
func (in invocation) goTo(sess store.Session, m text.Message) (outcome, error) {
	o := say(in.words.Say(m))
	o.SessionID = sess.ID
	return o.with(dialogOf(sess))
}

// misused says how the command is written.
func (in invocation) misused() (outcome, error) {
	return refuse(in.words.Say(text.CommandUsage{Usage: in.usage})), nil
}

// readOnly refuses to change what is not the chat's to change.
func (in invocation) readOnly(err error) (outcome, error) {
	if errors.Is(err, store.ErrReadOnlySession) {
		return refuse(in.words.Say(text.SessionReadOnly{})), nil
	}
	return outcome{}, err
}

// title is how a dialog is called.
func (in invocation) title(s store.Session) string {
	if s.Title == "" {
		return in.words.Say(text.DefaultTitle{})
	}
	return s.Title
}

// maxTitle bounds a title, in characters.
const maxTitle = 100

// title makes one line of what somebody wants a dialog to be called, without
// characters that would turn the text around it.
func title(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r == '\ufeff', r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxTitle {
		s = strings.TrimSpace(string(r[:maxTitle-1])) + "…"
	}
	return s
}
