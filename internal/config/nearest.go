package config

import "picobot/internal/nearest"

// suggest ends a message about an unknown name: with the nearest known one if
// there is one that could be meant, else with all of them.
func suggest(name string, known []string) string {
	if near := nearest.Of(name, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if len(known) == 0 {
		return "there is none"
	}
	const listed = 30
	if len(known) > listed {
		return "known are " + quoteAll(known[:listed]) + " and others"
	}
	return "known are " + quoteAll(known)
}
