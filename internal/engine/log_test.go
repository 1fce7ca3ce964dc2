package engine

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

func errorTag(text string) tag.Tag { return tag.Error(errors.New(text)) }

func TestOnlyWhatMattersIsLogged(t *testing.T) {
	state := &logState{fail: newFailure()}
	out := &lines{}
	l := log.With(serverLog{out: slog.New(slog.NewTextHandler(out, nil)), state: state}, tag.ComponentRPCHandler)

	l.Debug("quiet")
	l.Info("quiet")
	l.Warn("HTTP API port has not been set. quiet")
	l.Error("quiet", errorTag("rpc error: context canceled"))
	l.Warn("loud one", tag.Key("k"))
	l.Error("loud two", errorTag("broken"))
	l.DPanic("loud three")
	state.enter(phaseStopping)
	l.Error("quiet")
	state.enter(phaseStopped)
	l.Error("quiet")

	got := out.String()
	if strings.Contains(got, "quiet") || strings.Count(got, "loud") != 3 || strings.Count(got, "component=") != 3 {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(got, "level=WARN") || !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "error=broken") {
		t.Errorf("got %s", got)
	}
}

func TestPanicPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not")
		}
	}()
	serverLog{out: slog.New(slog.DiscardHandler), state: &logState{fail: newFailure()}}.Panic("out of order")
}
