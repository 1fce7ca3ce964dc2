package doctor

import (
	"context"

	"picobot/internal/text"
)

func (e *examination) config(context.Context) {
	file := e.Config.File()
	if file == "" {
		file = e.say(text.DoctorNoConfig{})
	}
	e.ok("config", file)
	_, jobs := e.Config.Jobs(e.Now())
	for _, w := range append(e.Config.Warnings(), jobs...) {
		e.warn("config", text.DoctorEditConfig{}, w.String())
	}
}
