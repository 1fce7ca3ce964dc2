package cli

import (
	"path/filepath"
	"sync"

	"picobot/cli/terminal/seen"
	"picobot/internal/chat"
	"picobot/internal/home"
	"picobot/internal/protocol"
)

// earlierRows is how many rows are asked for to find the last texts among them.
const earlierRows = 60

// watched is a conversation of which is kept how far it was seen.
type watched struct {
	talk conversation
	seen *seen.Seen

	mu  sync.Mutex
	err error // why that could not be kept
}

// newWatched goes on from what was seen before; where that cannot be read, nothing is
// known to be news.
func newWatched(h home.Home, talk conversation) *watched {
	s, err := seen.Open(filepath.Join(h.Dir, "client.seen"))
	return &watched{talk: talk, seen: s, err: err}
}

// wanted is how many of a session's rows from before are to be shown.
func (w *watched) wanted(f protocol.Welcome) int64 {
	if !w.talk.newsOnly {
		return earlierRows
	}
	upto, known := w.seen.Upto(f.SessionID)
	if !known {
		return 0
	}
	return min(f.LastSeq-upto, earlierRows)
}

// frame shows a frame. What it leaves on the screen has been seen, whatever becomes of
// this process.
func (w *watched) frame(f protocol.ServerFrame) {
	w.talk.frame(f)
	switch f := f.(type) {
	case protocol.Welcome:
		w.seen.See(f.SessionID, f.LastSeq)
	case protocol.Message:
		w.seen.See(f.SessionID, f.Seq)
		if f.Role == chat.RoleAssistant && len(f.ToolCalls) == 0 {
			w.save()
		}
	}
}

func (w *watched) save() {
	err := w.seen.Save()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// close keeps what was seen last, and tells if that could not be kept. It is no failure
// of the conversation.
func (w *watched) close() error {
	w.save()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
