package doctor

import "context"

func (e *examination) config(context.Context) {
	file := e.Config.File()
	if file == "" {
		file = "none, defaults are used"
	}
	e.ok("config", "%s", file)
	_, jobs := e.Config.Jobs(e.Now())
	for _, w := range append(e.Config.Warnings(), jobs...) {
		e.warn("config", "edit the configuration", "%s", w)
	}
}
