package cli

import (
	"testing"
	"time"

	"picobot/internal/text"
)

func TestFarOff_IsToTheNearestOfAUnitThatSaysSomething(t *testing.T) {
	words := text.For("en")
	for d, want := range map[time.Duration]string{
		-time.Second:                     "due",
		300 * time.Millisecond:           "in 1 s",
		99 * time.Second:                 "in 99 s",
		114*time.Minute + 20*time.Second: "in 114 min",
		2*time.Hour + 50*time.Minute:     "in 3 h",
		36 * time.Hour:                   "in 36 h",
		6*24*time.Hour + 23*time.Hour:    "in 7 days",
	} {
		if got := words.Say(farOff(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
