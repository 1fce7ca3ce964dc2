package gateway

import (
	"picobot/internal/compact"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/store"
)

// runCompact has a session compacted now, however large it is. The newest keepTurns
// user turns stay as they are; with next to nothing before them there is nothing to gain.
func runCompact(keepTurns int) func(*store.CommandTx, invocation) (outcome, error) {
	return func(tx *store.CommandTx, in invocation) (outcome, error) {
		sessionID := tx.Session.ID
		started, err := tx.AskCompaction(keepTurns, prompt.Weight, func(p store.CompactionPlan) bool {
			return p.Cut > 0 && compact.Worth(p.Weight, p.Weight-p.Older)
		})
		if err != nil {
			return in.readOnly(err)
		}
		if !started {
			return say(in.words.Say(text.CompactNothing{})), nil
		}
		o := say(in.words.Say(text.CompactStarted{}))
		o.then = func(s *Server) { s.deps.Dispatcher.Compact(sessionID) }
		return o, nil
	}
}
