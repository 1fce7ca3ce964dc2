package doctor

import (
	"context"
	"errors"
	"strconv"

	"picobot/cli/app"
	"picobot/internal/config"
	"picobot/internal/port"
	"picobot/internal/text"
)

func (e *examination) temporal(ctx context.Context) {
	cfg := e.Config.Temporal
	if cfg.Mode == config.TemporalExternal {
		if err := app.CheckTemporal(ctx, e.Options.Options); err != nil {
			e.fail("temporal", text.DoctorCorrectTemporal{}, e.say(text.DoctorExternalIll{Namespace: cfg.Namespace, Address: cfg.Address, Detail: err.Error()}))
			return
		}
		e.ok("temporal", e.say(text.DoctorExternal{Namespace: cfg.Namespace, Address: cfg.Address}))
		return
	}
	if e.gateway != nil {
		if e.gateway.Temporal != "ok" {
			e.fail("temporal", text.DoctorSeeLog{}, e.say(text.DoctorGatewaySays{State: strconv.Quote(e.gateway.Temporal)}))
			return
		}
		e.ok("temporal", e.say(text.DoctorEmbeddedRuns{URL: e.gateway.UIURL}))
		return
	}
	for key, addr := range map[string]string{"temporal.address": cfg.Address, "temporal.ui_addr": cfg.UIAddr} {
		if !e.Config.Named(key) {
			continue // a default port that is taken is replaced
		}
		l, err := port.Listen(ctx, addr)
		if taken, ok := errors.AsType[*port.TakenError](err); ok {
			e.fail("temporal", text.DoctorAddressTaken{Key: key}, taken.Error())
			return
		}
		if err == nil {
			_ = l.Close()
		}
	}
	e.ok("temporal", e.say(text.DoctorEmbedded{Dir: e.Home.TemporalDir()}))
}
