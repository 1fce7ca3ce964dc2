package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"picobot/internal/text"
	"picobot/store"
)

func (e *examination) store(ctx context.Context) {
	if e.gateway != nil && e.gateway.Store != "ok" {
		e.fail("store", text.DoctorDiskFull{}, e.say(text.DoctorGatewaySays{State: strconv.Quote(e.gateway.Store)}))
		return
	}
	report, err := store.Inspect(ctx, e.Home.StorageDB())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("store", e.say(text.DoctorNoStore{}))
	case errors.Is(err, store.ErrSchemaTooNew):
		e.fail("store", text.DoctorNewerBuild{}, err.Error())
	case err != nil:
		e.fail("store", text.DoctorRestore{}, err.Error())
	case report.Damage != "":
		e.fail("store", text.DoctorRestore{}, e.say(text.DoctorDamaged{Detail: report.Damage}))
	default:
		e.ok("store", e.say(text.DoctorStore{Schema: int(report.Schema), Sessions: int(report.Sessions), Messages: int(report.Messages)}))
	}
}
