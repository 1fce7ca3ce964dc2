package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/schedule"
)

// reference finds the slots of a cron by walking through every minute of a span and
// looking at the clock on the wall, which is all it has in common with a Plan.
type reference struct {
	match func(wall time.Time) bool // of a wall clock time, as UTC
	wild  bool
}

// minute is a moment and what the wall clock shows then, as UTC.
type minute struct{ at, wall time.Time }

func minutes(loc *time.Location, from, until time.Time) (out []minute) {
	for t := from.Add(-72 * time.Hour); t.Before(until); t = t.Add(time.Minute) {
		_, offset := t.In(loc).Zone()
		out = append(out, minute{t, t.Add(time.Duration(offset) * time.Second)})
	}
	return out
}

func (r reference) slots(span []minute, from time.Time) []time.Time {
	var out []time.Time
	newest := span[0].wall
	for _, m := range span[1:] {
		due := r.match(m.wall)
		if !r.wild {
			if !m.wall.After(newest) {
				due = false // the wall has shown this before
			}
			for gap := newest.Add(time.Minute); gap.Before(m.wall); gap = gap.Add(time.Minute) {
				due = due || r.match(gap)
			}
		}
		if m.wall.After(newest) {
			newest = m.wall
		}
		if due && !m.at.Before(from) {
			out = append(out, m.at)
		}
	}
	return out
}

func in[T comparable](v T, set ...T) bool {
	for _, s := range set {
		if s == v {
			return true
		}
	}
	return len(set) == 0
}

var crons = map[string]reference{
	"30 18 * * *":    {match: func(w time.Time) bool { return w.Hour() == 18 && w.Minute() == 30 }},
	"30 2 * * *":     {match: func(w time.Time) bool { return w.Hour() == 2 && w.Minute() == 30 }},
	"0,30 1-3 * * *": {match: func(w time.Time) bool { return in(w.Hour(), 1, 2, 3) && in(w.Minute(), 0, 30) }},
	"0 0 * * *":      {match: func(w time.Time) bool { return w.Hour() == 0 && w.Minute() == 0 }},
	"59 23 * * *":    {match: func(w time.Time) bool { return w.Hour() == 23 && w.Minute() == 59 }},
	"*/15 * * * *":   {match: func(w time.Time) bool { return w.Minute()%15 == 0 }, wild: true},
	"7 */4 * * *":    {match: func(w time.Time) bool { return w.Minute() == 7 && w.Hour()%4 == 0 }, wild: true},
	"*/10 2 * * *":   {match: func(w time.Time) bool { return w.Minute()%10 == 0 && w.Hour() == 2 }, wild: true},
	"* * * * *":      {match: func(time.Time) bool { return true }, wild: true},
	"0 9 1 * MON": {match: func(w time.Time) bool {
		return w.Hour() == 9 && w.Minute() == 0 && (w.Day() == 1 || w.Weekday() == time.Monday)
	}},
	"5 4 */2 * FRI": {match: func(w time.Time) bool {
		return w.Hour() == 4 && w.Minute() == 5 && w.Day()%2 == 1 && w.Weekday() == time.Friday
	}},
	"15 6 29 FEB *": {match: func(w time.Time) bool { return w.Hour() == 6 && w.Minute() == 15 && w.Day() == 29 && w.Month() == 2 }},
	"0 12 31 * *":   {match: func(w time.Time) bool { return w.Hour() == 12 && w.Minute() == 0 && w.Day() == 31 }},
	"20 8-18/5 * * 1-5": {match: func(w time.Time) bool {
		return in(w.Hour(), 8, 13, 18) && w.Minute() == 20 && in(int(w.Weekday()), 1, 2, 3, 4, 5)
	}},
	"1 1 * * FRI-SUN": {match: func(w time.Time) bool { return w.Hour() == 1 && w.Minute() == 1 && in(int(w.Weekday()), 5, 6, 0) }},
	"0 2 * MAR,oct 7": {match: func(w time.Time) bool {
		return w.Hour() == 2 && w.Minute() == 0 && in(w.Month(), 3, 10) && w.Weekday() == 0
	}},
}

func TestPlan_AYearOfCronSlots_IsWhatWalkingThroughEveryMinuteFinds(t *testing.T) {
	spans := map[string]time.Time{
		"Asia/Shanghai":       time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"Europe/Berlin":       time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC), // a leap year
		"America/New_York":    time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"Australia/Lord_Howe": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), // clocks are set by half an hour
		"America/Sao_Paulo":   time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC), // at midnight
		"Pacific/Apia":        time.Date(2011, 1, 1, 0, 0, 0, 0, time.UTC), // a day was left out
		"America/St_Johns":    time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC), // a minute after midnight
		"Africa/Cairo":        time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"UTC":                 time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for zone, from := range spans {
		loc, err := time.LoadLocation(zone)
		require.NoError(t, err)
		until := from.AddDate(1, 0, 0)
		span := minutes(loc, from, until)
		for expression, ref := range crons {
			t.Run(zone+" "+expression, func(t *testing.T) {
				t.Parallel()
				p, err := schedule.NewPlan(schedule.Spec{Type: schedule.CronType, Expression: expression, TimeZone: zone}, "", from)
				require.NoError(t, err)
				want := ref.slots(span, from)
				after := from.Add(-time.Nanosecond)
				for i, w := range want {
					got, ok := p.Next(after)
					if !ok || !got.Equal(w) {
						t.Fatalf("slot %d after %s: got %s, want %s", i, after.In(loc), got.In(loc), w.In(loc))
					}
					after = got
				}
				if got, ok := p.Next(after); ok && got.Before(until) {
					t.Fatalf("one slot too many: %s", got.In(loc))
				}
			})
		}
	}
}

func TestPlan_FixedTimeWhereClocksAreSet_IsDueOnceThatDay(t *testing.T) {
	p, err := schedule.NewPlan(schedule.Spec{Type: schedule.CronType, Expression: "30 2 * * *", TimeZone: "Europe/Berlin"}, "", time.Time{})
	require.NoError(t, err)
	day := func(text string) (out []string) {
		from, err := time.ParseInLocation("2006-01-02", text, p.Location())
		require.NoError(t, err)
		for _, s := range p.Upcoming(from.Add(-time.Nanosecond), 3) {
			if s.Before(from.AddDate(0, 0, 1)) {
				out = append(out, s.In(p.Location()).Format("15:04 -07"))
			}
		}
		return out
	}
	require.Equal(t, []string{"03:00 +02"}, day("2027-03-28"), "02:30 is left out: the first moment after")
	require.Equal(t, []string{"02:30 +02"}, day("2027-10-31"), "02:30 comes twice: the first time")
	require.Equal(t, []string{"02:30 +01"}, day("2027-11-01"))
	gaps := p.Gaps(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Len(t, gaps, 2, "what a calendar of wall clock times does not come to")
	require.Equal(t, "2027-03-28T01:00:00Z", gaps[0].Format(time.RFC3339))
}

func TestPlan_Interval_CountsFromItsAnchorWhateverTheMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anchor := time.UnixMilli(rapid.Int64Range(1.6e12, 2e12).Draw(t, "anchor"))
		every := rapid.IntRange(1, 1_000_000).Draw(t, "every")
		p, err := schedule.NewPlan(schedule.Spec{Type: schedule.Interval, Seconds: every}, "UTC", anchor)
		if err != nil {
			t.Fatal(err)
		}
		after := anchor.Add(time.Duration(rapid.Int64Range(-5e9, 1e16).Draw(t, "after")))
		got, ok := p.Next(after)
		since := got.Sub(p.Anchor())
		if !ok || !got.After(after) || since <= 0 || since%(time.Duration(every)*time.Second) != 0 {
			t.Fatalf("%s is no slot after %s", got, after)
		}
		if before := got.Add(-time.Duration(every) * time.Second); before.After(after) && before.After(p.Anchor()) {
			t.Fatalf("%s was left out", before)
		}
		if !p.Is(got) || p.Is(p.Anchor()) || p.Is(got.Add(time.Millisecond)) {
			t.Fatal("Is does not agree with Next")
		}
	})
}

func TestPlan_WhatIsDueOnce_HasOneSlotAtAWholeSecondNeverEarly(t *testing.T) {
	anchor := time.UnixMilli(1_800_000_000_400)
	p, err := schedule.NewPlan(schedule.Spec{Type: schedule.Delay, Seconds: 10}, "UTC", anchor)
	require.NoError(t, err)
	require.Equal(t, []time.Time{time.Unix(1_800_000_011, 0).UTC()}, p.Upcoming(anchor, 5))
	require.Zero(t, p.Period(time.Unix(1_800_000_011, 0)))

	for text, want := range map[string]string{
		"2027-01-31T18:30:00+08:00":   "2027-01-31T10:30:00Z",
		"2027-01-31T18:30:00.5+08:00": "2027-01-31T10:30:01Z",
		"2027-01-31 18:30":            "2027-01-31T23:30:00Z",
		"2027-01-31T18:30:07":         "2027-01-31T23:30:07Z",
		"2027-11-07 01:30":            "2027-11-07T05:30:00Z", // comes twice: the first time
	} {
		p, err := schedule.NewPlan(schedule.Spec{Type: schedule.At, Time: text, TimeZone: "America/New_York"}, "", anchor)
		require.NoError(t, err, text)
		slot, ok := p.Next(anchor.AddDate(-1, 0, 0))
		require.True(t, ok, text)
		require.Equal(t, want, slot.Format(time.RFC3339), text)
	}
	_, err = schedule.NewPlan(schedule.Spec{Type: schedule.At, Time: "2027-03-14 02:30", TimeZone: "America/New_York"}, "", anchor)
	require.ErrorContains(t, err, "does not exist in America/New_York")
	require.ErrorContains(t, err, "2027-03-14T03:00:00-04:00")
}

func TestParseCron_WhatIsWrong_IsNamedWithWhatWouldBeRight(t *testing.T) {
	for expression, want := range map[string]string{
		"":                    "has 0 fields",
		"* * * *":             "has 4 fields",
		"*/5 * * * * *":       "none for seconds",
		"0 0 9 * * MON":       "none for seconds",
		"0 9 * * MON#2":       "day of week",
		"60 * * * *":          "60 is not from 0 to 59",
		"0 24 * * *":          "24 is not from 0 to 23",
		"0 0 0 * *":           "0 is not from 1 to 31",
		"0 0 1 13 *":          "13 is not from 1 to 12",
		"0 0 * * 8":           "8 is not from 0 to 7",
		"0 0 L * *":           `"L" is no number`,
		"0 0 ? * *":           `"?" is no number`,
		"0 22-4 * * *":        "runs backwards",
		"*/0 * * * *":         "step",
		"*/ * * * *":          "step",
		"1- * * * *":          `"" is no number`,
		"1,,2 * * * *":        `"" is no number`,
		"-1 * * * *":          `"" is no number`,
		"0 0 * FOO *":         "neither a number nor a name",
		"@daily":              "not known here",
		"0 0 99999999999 * *": "no number",
	} {
		_, err := schedule.ParseCron(expression)
		require.ErrorContains(t, err, want, expression)
		require.Regexp(t, "write |such as", err.Error(), expression)
	}
}

func FuzzParseCron(f *testing.F) {
	for expression := range crons {
		f.Add(expression)
	}
	f.Add("*/5 * * * * *")
	f.Add("0 0 30 2 *")
	f.Fuzz(func(t *testing.T, expression string) {
		if _, err := schedule.ParseCron(expression); err != nil {
			return
		}
		p, err := schedule.NewPlan(schedule.Spec{Type: schedule.CronType, Expression: expression, TimeZone: "Europe/Berlin"}, "", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		after := time.Date(2027, 3, 27, 0, 0, 0, 0, time.UTC)
		if slot, ok := p.Next(after); ok && (!slot.After(after) || !p.Is(slot)) {
			t.Fatal(fmt.Sprint(slot, " is no slot of ", expression))
		}
	})
}
