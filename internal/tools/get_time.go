package tools

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on machines without a zone database too
)

//go:embed get_time.md
var getTimeDescription string

type getTimeArgs struct {
	TimeZone string `json:"time_zone,omitempty" jsonschema:"IANA name such as Asia/Shanghai, or an offset such as UTC+8"`
}

// GetTime is the tool get_time. now is its clock, zone what it takes when the
// model names none; nil = the machine's.
func GetTime(now func() time.Time, zone *time.Location) Tool {
	if zone == nil {
		zone = time.Local
	}
	return New(Spec[getTimeArgs]{
		Name:        "get_time",
		Description: getTimeDescription,
		Effect:      ReadOnly,
		Summary:     func(a getTimeArgs) string { return a.TimeZone },
	}, func(_ context.Context, _ Call, a getTimeArgs) (string, error) {
		wanted, err := findZone(a.TimeZone, zone)
		if err != nil {
			return "", err
		}
		return describeTime(now().In(wanted)), nil
	})
}

func findZone(name string, fallback *time.Location) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if name == "" || strings.EqualFold(name, "local") {
		return fallback, nil
	}
	if strings.EqualFold(name, "utc") || strings.EqualFold(name, "z") {
		return time.UTC, nil
	}
	if zone, ok := offsetZone(name); ok {
		return zone, nil
	}
	if zone, err := time.LoadLocation(name); err == nil {
		return zone, nil
	}
	// Names are case-sensitive; models are not: asia/shanghai, America/New York.
	if zone, err := time.LoadLocation(zoneCase(name)); err == nil {
		return zone, nil
	}
	return nil, fmt.Errorf("unknown time zone %s: use an IANA name such as Asia/Shanghai, Europe/Berlin or America/New_York, or an offset such as UTC+8", quote(name))
}

// offsetZone understands UTC+8, GMT-03:30 and +08:00.
func offsetZone(name string) (*time.Location, bool) {
	m := regexp.MustCompile(`^(?i:UTC|GMT)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?$`).FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3]) // "" is 0
	if hours > 14 {
		return nil, false
	}
	seconds := hours*3600 + minutes*60
	if m[1] == "-" {
		seconds = -seconds
	}
	return time.FixedZone("UTC"+time.Unix(0, 0).In(time.FixedZone("", seconds)).Format("-07:00"), seconds), true
}

func zoneCase(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' })
	name = strings.ToLower(strings.Join(words, "_"))
	upper := true
	return strings.Map(func(r rune) rune {
		if upper && r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		upper = r == '/' || r == '_' || r == '-'
		return r
	}, name)
}

// describeTime writes 2026-08-23T14:05:09+08:00, Sunday, Asia/Shanghai (CST, UTC+08:00).
func describeTime(t time.Time) string {
	name := t.Location().String()
	abbreviation, _ := t.Zone()
	details := "UTC" + t.Format("-07:00")
	// Zones without an abbreviation of their own repeat the offset.
	if abbreviation != "" && abbreviation != name && !strings.ContainsAny(abbreviation[:1], "+-") {
		details = abbreviation + ", " + details
	}
	if name == "Local" {
		name = "the local time zone"
	}
	return fmt.Sprintf("%s, %s, %s (%s)", t.Format(time.RFC3339), t.Weekday(), name, details)
}
