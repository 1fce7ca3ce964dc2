package activities

import (
	"context"
	"errors"

	"picobot/internal/chat"
	"picobot/internal/compact"
	"picobot/internal/flow"
	"picobot/internal/llm"
	"picobot/internal/prompt"
	"picobot/internal/text"
	"picobot/store"
)

// Summarise finds out whether a session that is due is to be compacted, has its older
// rows summarised and writes the summary down. A summary that waits for its commit is
// never made again.
func (a *Activities) Summarise(ctx context.Context, in flow.SummariseInput) (flow.Summarised, error) {
	return background(ctx, a, flow.Summarise, in.SessionID, func(ctx context.Context, c *modelCall) (flow.Summarised, error) {
		s := &summarising{modelCall: c, sessionID: in.SessionID, noModel: in.NoModel}
		done, err := s.run(ctx)
		if errors.Is(err, store.ErrNotFound) {
			return flow.Summarised{}, nil // the record was replaced by another
		}
		if err != nil || done.State != store.CompactionSummarised {
			return flow.Summarised{Outbound: done.Outbound}, err
		}
		return flow.Summarised{CompactionID: done.ID}, nil
	})
}

// CommitCompaction puts a summary in its place.
func (a *Activities) CommitCompaction(ctx context.Context, compactionID string) (flow.Compacted, error) {
	done, err := a.Record.CommitCompaction(ctx, compactionID, a.compactionEnd)
	if errors.Is(err, store.ErrNotFound) {
		return flow.Compacted{}, nil
	}
	return flow.Compacted{Outbound: done.Outbound}, err
}

// compactionEnd is what whoever asked for a compaction is told of its end.
func (a *Activities) compactionEnd(sess store.Session, c store.Compaction) string {
	title := sess.Title
	if text.Untitled(title) {
		title = a.Texts.Say(text.UntitledDialog{})
	}
	switch {
	case c.ID == "":
		return a.Texts.Say(text.CompactModelUnusable{Title: title})
	case c.State != store.CompactionCommitted:
		return a.Texts.Say(text.CompactFruitless{Title: title})
	case c.Source == store.SummaryByTranscript:
		return a.Texts.Say(text.CompactedByTranscript{Title: title, Before: int(c.Before), After: int(c.After)})
	default:
		return a.Texts.Say(text.Compacted{Title: title, Before: int(c.Before), After: int(c.After)})
	}
}

// summarising is one attempt at a summary.
type summarising struct {
	*modelCall
	sessionID string
	noModel   bool
}

// run returns the compaction that has the summary; zero when nothing is to be done.
func (s *summarising) run(ctx context.Context) (store.Compaction, error) {
	sess, err := s.a.Record.Session(ctx, s.sessionID)
	if err != nil {
		return store.Compaction{}, recorded(err)
	}
	use, err := s.choose(sess.Agent)
	if err != nil {
		s.a.Logger.Warn("a session is not compacted: its model cannot be used", "session", s.sessionID, "error", err)
		return s.notDue(ctx, sess, s.a.compactionEnd)
	}
	transcript := compact.NewTranscript(transcriptTokens(use))
	plan, err := s.a.Record.PlanCompaction(ctx, s.sessionID, s.a.Compaction.KeepTurns, prompt.Weight, transcript.Add)
	if err != nil {
		return store.Compaction{}, recorded(err)
	}
	if plan.Open.ID != "" {
		return plan.Open, nil
	}
	size := s.a.segmentTokens(plan)
	if !s.wanted(plan, size) {
		return s.notDue(ctx, plan.Session, nil) // what was asked for has no object any more
	}
	c := store.Compaction{SessionID: s.sessionID, Base: plan.Session.ResetCutoffSeq, Cut: plan.Cut, State: store.CompactionFruitless,
		Source: store.SummaryByTranscript, Before: int64(size), After: int64(size)}
	if compact.Worth(plan.Weight, plan.Weight-plan.Older) { // else no summary is short enough
		if c.Summary, c.Source, err = s.summary(ctx, use, transcript, plan); err != nil {
			return c, err
		}
		after := plan.Weight - plan.Older + prompt.Weight(chat.Message{Role: chat.RoleSystem, Content: c.Summary})
		c.After = int64(float64(size) * float64(after) / float64(plan.Weight))
		if compact.Worth(plan.Weight, after) {
			c.State = store.CompactionSummarised
		}
	}
	return persist(ctx, func(ctx context.Context) (store.Compaction, error) {
		done, err := s.a.Record.AddSummary(ctx, c, s.bill.calls, s.a.compactionEnd)
		return done, recorded(err)
	})
}

func (s *summarising) notDue(ctx context.Context, sess store.Session, say store.Telling) (store.Compaction, error) {
	out, err := s.a.Record.CompactionNotDue(ctx, sess, say)
	return store.Compaction{Outbound: out}, recorded(err)
}

// wanted reports whether the session is to be compacted, as it is now.
func (s *summarising) wanted(p store.CompactionPlan, size int) bool {
	switch {
	case p.Cut == 0 || p.Session.DeletedAt != 0:
		return false
	case p.Session.Compacting.Due == store.DueAsked:
		return true
	}
	return p.Session.Compacting.Due == store.DueSize && s.a.grown(p.Session, size)
}

// transcriptTokens is how much of the older rows a model is shown: what its window
// holds, with room for the summary and for how far the estimate may be off.
func transcriptTokens(use chosen) int {
	return room(use.window, use.model.MaxOutputTokens) * 3 / 4
}

// summary returns the row's content and who wrote it. A model that cannot hold the
// transcript gets less of it; one that says nothing is replaced by the cut transcript.
func (s *summarising) summary(ctx context.Context, use chosen, t *compact.Transcript, p store.CompactionPlan) (content, source string, err error) {
	most := compact.MaxSummary(use.window)
	if !s.noModel {
		show := transcriptTokens(use)
		for n := 0; ; n++ {
			said, err := s.words(ctx, use, compact.Request(t.Text(show)))
			if err == nil && said != "" {
				return compact.Row(said, most), store.SummaryByModel, nil
			}
			if err == nil {
				break
			}
			if llm.KindOf(err) != llm.KindContextTooLarge || n == maxSmaller {
				return "", "", err
			}
			show = show * 6 / 10
		}
	}
	most = compact.MaxTranscript(use.window, p.Weight, p.Older)
	return compact.Row(t.Text(most), most), store.SummaryByTranscript, nil
}
