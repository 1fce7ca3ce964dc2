package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"picobot/internal/chat"
	"picobot/internal/memory"
	"picobot/store"
)

// offered bounds how many words are offered.
const offered = 1000

// sessionIDs are the ids of sessions, the most recently active first.
func (g *globals) sessionIDs(sys System) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, _ []string) ([]cobra.Completion, error) {
		sessions, err := record.Sessions(ctx, store.SessionFilter{Limit: offered})
		var out []cobra.Completion
		for _, s := range sessions {
			out = append(out, cobra.CompletionWithDesc(s.ID, cell(s.Title)))
		}
		return out, err
	})
}

// chatIDs are the chats that there are sessions of, the most recently active first.
func (g *globals) chatIDs(sys System) found {
	return g.sessionParts(sys, func(s store.Session) string { return s.ChatID })
}

// channels are those that there are sessions of.
func (g *globals) channels(sys System) found {
	return g.sessionParts(sys, func(s store.Session) string { return s.Channel })
}

func (g *globals) sessionParts(sys System, part func(store.Session) string) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, _ []string) ([]cobra.Completion, error) {
		sessions, err := record.Sessions(ctx, store.SessionFilter{Limit: offered})
		var out []cobra.Completion
		for _, s := range sessions {
			if !slices.Contains(out, part(s)) {
				out = append(out, part(s))
			}
		}
		return out, err
	})
}

// turnIDs are the ids of turns, the newest first; with statuses, of turns with one of
// these; of the session that the first argument names, if there is one.
func (g *globals) turnIDs(sys System, statuses ...chat.TurnStatus) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, args []string) ([]cobra.Completion, error) {
		f := store.TurnFilter{Limit: offered}
		if len(args) > 0 {
			s, err := record.FindSession(ctx, args[0])
			if err != nil {
				return nil, err
			}
			f.SessionID = s.ID
		}
		if len(statuses) == 0 {
			statuses = []chat.TurnStatus{""}
		}
		var out []cobra.Completion
		for _, f.Status = range statuses {
			turns, err := record.Turns(ctx, f)
			if err != nil {
				return nil, err
			}
			for _, t := range turns {
				out = append(out, cobra.CompletionWithDesc(t.ID, string(t.Status)+", "+moment(t.CreatedAt)))
			}
		}
		return out, nil
	})
}

// jobIDs are the ids of jobs; with states, of jobs in one of these.
func (g *globals) jobIDs(sys System, states ...string) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, _ []string) ([]cobra.Completion, error) {
		jobs, err := record.Jobs(ctx)
		var out []cobra.Completion
		for _, j := range jobs {
			if len(states) == 0 || slices.Contains(states, j.State) {
				out = append(out, cobra.CompletionWithDesc(j.ID, string(j.Kind)+", "+j.State))
			}
		}
		return out, err
	})
}

// memoryNames are namespaces, and behind one its keys, of whose memories are meant.
func (g *globals) memoryNames(sys System, f *memoryFlags) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, args []string) ([]cobra.Completion, error) {
		if len(args) > 1 {
			return nil, nil
		}
		filter := memory.Filter{Scope: f.scope, Limit: offered}
		if f.scope == "" {
			h, err := g.findHome(sys)
			if err != nil {
				return nil, err
			}
			id, err := os.ReadFile(h.ClientIDFile()) // asking the home for it would make one
			if err != nil {
				return nil, err
			}
			filter.Scope = memory.Scope(chat.ChannelCLI, strings.TrimSpace(string(id)))
		}
		if len(args) == 1 {
			filter.Namespace = args[0]
		}
		memories, err := record.Memories(ctx, filter)
		var out []cobra.Completion
		for _, m := range memories {
			word := cobra.CompletionWithDesc(m.Key, cell(m.Content))
			if len(args) == 0 {
				word = m.Namespace
			}
			if !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
		return out, err
	})
}

// memoryParts are the scopes or namespaces that there are memories of.
func (g *globals) memoryParts(sys System, part func(memory.Memory) string) found {
	return g.fromRecord(sys, func(ctx context.Context, record *store.Store, _ *cobra.Command, _ []string) ([]cobra.Completion, error) {
		memories, err := record.Memories(ctx, memory.Filter{Limit: offered})
		var out []cobra.Completion
		for _, m := range memories {
			if !slices.Contains(out, part(m)) {
				out = append(out, part(m))
			}
		}
		return out, err
	})
}

// skillNames are the names of skills that are in one of the states and not named yet.
// The running gateway is asked: it may work in another directory.
func (g *globals) skillNames(sys System, enabled ...bool) found {
	return func(ctx context.Context, _ *cobra.Command, args []string) (out []cobra.Completion, err error) {
		err = g.withSkills(ctx, sys.quiet(), func(s skillsAt) error {
			l, err := s.list(ctx)
			for _, k := range l.Items {
				if slices.Contains(enabled, k.Enabled) && !slices.Contains(args, k.Name) {
					out = append(out, cobra.CompletionWithDesc(k.Name, cell(k.Description)))
				}
			}
			return err
		})
		return out, err
	}
}

// agentNames are the agents of the configuration.
func (g *globals) agentNames(sys System) found {
	return func(context.Context, *cobra.Command, []string) ([]cobra.Completion, error) {
		h, err := g.findHome(sys)
		if err != nil {
			return nil, err
		}
		cfg, err := g.loadClientConfig(sys, h)
		var out []cobra.Completion
		for name, a := range cfg.Agents {
			out = append(out, cobra.CompletionWithDesc(name, a.Model))
		}
		slices.Sort(out)
		return out, err
	}
}
