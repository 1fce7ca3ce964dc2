package doctor

import (
	"context"
	"errors"
	"io/fs"

	"picobot/store"
)

func (e *examination) store(ctx context.Context) {
	const restore = "stop PicoBot and put a backup in its place, or move it away to begin anew"
	if e.gateway != nil && e.gateway.Store != "ok" {
		e.fail("store", "see the gateway's log; is the disk full?", "the gateway says %q", e.gateway.Store)
		return
	}
	report, err := store.Inspect(ctx, e.Home.StorageDB())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("store", "there is none yet: the first start makes it")
	case errors.Is(err, store.ErrSchemaTooNew):
		e.fail("store", "use the newer build of PicoBot that made it", "%v", err)
	case err != nil:
		e.fail("store", restore, "%v", err)
	case report.Damage != "":
		e.fail("store", restore, "the record is damaged: %s", report.Damage)
	default:
		e.ok("store", "schema %d, %d sessions, %d messages", report.Schema, report.Sessions, report.Messages)
	}
}
