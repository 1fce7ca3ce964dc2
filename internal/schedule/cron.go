package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"picobot/internal/brief"
)

// Cron is a parsed cron expression of five fields. Each field is a set of bits.
type Cron struct {
	minutes, hours, days, months, weekdays uint64
	// eitherDay: both day fields are restricted, so one of them is enough, as in crontab(5).
	eitherDay bool
	// wild: the minute or the hour begins with a star. Such a job follows time as it
	// passes; one at a fixed time of day follows the clock on the wall. See Plan.
	wild bool
}

type field struct {
	name      string
	low, high int
	names     []string // names[i] means low+i
	sample    string
}

var fields = [5]field{
	{name: "minute", low: 0, high: 59, sample: "0 or */15"},
	{name: "hour", low: 0, high: 23, sample: "9 or 9-17"},
	{name: "day of month", low: 1, high: 31, sample: "1 or 1,15"},
	{name: "month", low: 1, high: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, sample: "1-6 or JAN-JUN"},
	{name: "day of week", low: 0, high: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, sample: "1-5 or MON-FRI"},
}

const goodCron = `five fields, minute hour day-of-month month day-of-week, such as "30 18 * * MON-FRI"`

// ParseCron reads five fields with numbers, names, lists, ranges and steps, as in
// crontab(5). Its error says which field is wrong and what would be right.
func ParseCron(expression string) (Cron, error) {
	if len(expression) > 500 {
		return Cron{}, fmt.Errorf("is longer than 500 bytes; write %s", goodCron)
	}
	if strings.HasPrefix(expression, "@") {
		return Cron{}, fmt.Errorf("%s is not known here; write %s", clip(expression), goodCron)
	}
	parts := strings.Fields(expression)
	if len(parts) == 6 {
		return Cron{}, fmt.Errorf("has six fields, and there is none for seconds; write %s, or use an interval", goodCron)
	}
	if len(parts) != len(fields) {
		return Cron{}, fmt.Errorf("has %d fields; write %s", len(parts), goodCron)
	}
	var sets [5]uint64
	for i, f := range fields {
		set, err := f.parse(parts[i])
		if err != nil {
			return Cron{}, err
		}
		sets[i] = set
	}
	if sets[4]&(1<<7) != 0 { // 7 is Sunday, too
		sets[4] = sets[4]&^(1<<7) | 1
	}
	star := func(i int) bool { return parts[i][0] == '*' }
	return Cron{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		eitherDay: !star(2) && !star(4),
		wild:      star(0) || star(1),
	}, nil
}

func (f field) parse(text string) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		one, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("the %s %w; write for example %s", f.name, err, f.sample)
		}
		set |= one
	}
	return set, nil
}

// item reads *, n, n-m, each with an optional /step.
func (f field) item(item string) (uint64, error) {
	span, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		n, ok := number(stepText)
		if !ok || n < 1 || n > f.high {
			return 0, fmt.Errorf("%s has a step that is no number from 1 to %d", clip(item), f.high)
		}
		step = n
	}
	low, high := f.low, f.high
	if f.high == 7 && span == "*" {
		high = 6 // Sunday once, or */2 would begin the week twice
	}
	if span != "*" {
		from, to, ranged := strings.Cut(span, "-")
		var err error
		if low, err = f.value(from); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if high, err = f.value(to); err != nil {
				return 0, err
			}
			if high < low && high == 0 && f.high == 7 {
				high = 7 // FRI-SUN
			}
		case !stepped:
			high = low
		case f.high == 7:
			high = 6
		}
		if high < low {
			return 0, fmt.Errorf("%s runs backwards", clip(item))
		}
	}
	var set uint64
	for v := low; v <= high; v += step {
		set |= 1 << v
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.low + i, nil
		}
	}
	n, ok := number(text)
	if !ok {
		what := "no number"
		if f.names != nil {
			what = "neither a number nor a name"
		}
		return 0, fmt.Errorf("%s is %s", clip(text), what)
	}
	if n < f.low || n > f.high {
		return 0, fmt.Errorf("%d is not from %d to %d", n, f.low, f.high)
	}
	return n, nil
}

func number(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// day reports whether the expression is due at some time of this date.
func (c Cron) day(date time.Time) bool {
	if c.months&(1<<date.Month()) == 0 {
		return false
	}
	day, weekday := c.days&(1<<date.Day()) != 0, c.weekdays&(1<<date.Weekday()) != 0
	if c.eitherDay {
		return day || weekday
	}
	return day && weekday
}

// from is the first minute of a day, not before the given one, that is due on days
// that are.
func (c Cron) from(minute int) (int, bool) {
	for h := minute / 60; h < 24; h++ {
		if c.hours&(1<<h) == 0 {
			continue
		}
		first := 0
		if h == minute/60 {
			first = minute % 60
		}
		if left := c.minutes >> first; left != 0 {
			return h*60 + first + bits.TrailingZeros64(left), true
		}
	}
	return 0, false
}

// members lists the numbers of a set in order.
func members(set uint64) []int {
	out := make([]int, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		out = append(out, bits.TrailingZeros64(set))
	}
	return out
}

// Calendar is a part of what a plan comes to: the times of the wall clock whose
// fields are all in the lists. A nil list means any.
type Calendar struct {
	Minutes, Hours, Days, Months, Weekdays []int
}

// Calendars are the times of the wall clock the expression means. Two of them, where
// either of the day fields is enough.
func (c Cron) Calendars() []Calendar {
	all := Calendar{Minutes: members(c.minutes), Hours: members(c.hours), Days: members(c.days), Months: members(c.months), Weekdays: members(c.weekdays)}
	if !c.eitherDay {
		return []Calendar{all}
	}
	byDay, byWeekday := all, all
	byDay.Weekdays, byWeekday.Days = nil, nil
	return []Calendar{byDay, byWeekday}
}

// clip quotes a piece of what somebody wrote.
func clip(s string) string {
	const most = 40
	return strconv.Quote(brief.Cut(s, most))
}
