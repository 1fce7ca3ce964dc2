package schedule

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a bare machine has no zone files
)

// LocalZone is the IANA name of the machine's zone, for which "Local" stands in a
// configuration. It is "Local" itself where the machine does not say.
func LocalZone(env func(string) string) string {
	if name, set := strings.CutPrefix(env("TZ"), ":"); name != "" || set {
		return known(name)
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok && known(name) == name {
			return name
		}
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		if name := strings.TrimSpace(string(text)); known(name) == name {
			return name
		}
	}
	if time.Local.String() == "UTC" {
		return "UTC"
	}
	return known("")
}

func known(name string) string {
	if name != "" {
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	}
	return "Local"
}

// moments are the instants at which the clock on the wall of loc shows w (a time
// whose own zone means nothing): one, two where clocks are set back, or none where
// they are set forward. gap is then the first instant after what was left out.
func moments(w time.Time, loc *time.Location) (at []time.Time, gap time.Time) {
	wall := func(t time.Time) time.Time {
		_, offset := t.In(loc).Zone()
		return t.Add(time.Duration(offset) * time.Second)
	}
	w = time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, time.UTC)
	guess := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, loc)
	start, end := guess.ZoneBounds()
	try := func(near time.Time) {
		_, offset := near.In(loc).Zone()
		t := w.Add(-time.Duration(offset) * time.Second)
		if wall(t).Equal(w) && !slices.ContainsFunc(at, t.Equal) {
			at = append(at, t.UTC())
		}
	}
	if !start.IsZero() {
		try(start.Add(-time.Nanosecond))
	}
	try(guess)
	if !end.IsZero() {
		try(end)
	}
	if len(at) > 0 {
		slices.SortFunc(at, time.Time.Compare)
		return at, time.Time{}
	}
	if wall(guess).After(w) {
		return nil, start.UTC() // the guess lies after what is left out
	}
	return nil, end.UTC()
}

// parseTime reads the time of an at.
func parseTime(text string, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		w, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at, gap := moments(w, loc)
		if len(at) == 0 {
			return time.Time{}, fmt.Errorf("%s does not exist in %s: clocks are set forward then; the first moment after it is %s",
				clip(text), loc, gap.In(loc).Format(time.RFC3339))
		}
		return at[0], nil
	}
	return time.Time{}, fmt.Errorf(`%s is no time; write "2027-01-31T18:30:00+08:00", or "2027-01-31 18:30" in the job's time_zone`, clip(text))
}
