package doctor

import "context"

func (e *examination) config(context.Context) {
	file := e.Config.File()
	if file == "" {
		file = "none, defaults are used"
	}
	e.ok("config", "%s", file)
	for _, w := range e.Config.Warnings() {
		e.warn("config", "edit the configuration", "%s", w)
	}
}
