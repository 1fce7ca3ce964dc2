package tools_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools"
)

func TestGetTimeSaysZoneAndWeekday(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 8, 23, 6, 5, 9, 999, time.UTC) }
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	tool := tools.GetTime(now, shanghai)
	for zone, want := range map[string]string{
		"":                 "2026-08-23T14:05:09+08:00, Sunday, Asia/Shanghai (CST, UTC+08:00)",
		"local":            "2026-08-23T14:05:09+08:00, Sunday, Asia/Shanghai (CST, UTC+08:00)",
		"UTC":              "2026-08-23T06:05:09Z, Sunday, UTC (UTC+00:00)",
		"utc":              "2026-08-23T06:05:09Z, Sunday, UTC (UTC+00:00)",
		"Z":                "2026-08-23T06:05:09Z, Sunday, UTC (UTC+00:00)",
		"Europe/Berlin":    "2026-08-23T08:05:09+02:00, Sunday, Europe/Berlin (CEST, UTC+02:00)",
		"america/new_york": "2026-08-23T02:05:09-04:00, Sunday, America/New_York (EDT, UTC-04:00)",
		"America/New York": "2026-08-23T02:05:09-04:00, Sunday, America/New_York (EDT, UTC-04:00)",
		"Pacific/Apia":     "2026-08-23T19:05:09+13:00, Sunday, Pacific/Apia (UTC+13:00)",
		"UTC+8":            "2026-08-23T14:05:09+08:00, Sunday, UTC+08:00 (UTC+08:00)",
		"gmt-3:30":         "2026-08-23T02:35:09-03:30, Sunday, UTC-03:30 (UTC-03:30)",
		"+14":              "2026-08-23T20:05:09+14:00, Sunday, UTC+14:00 (UTC+14:00)",
		" Asia/Tokyo ":     "2026-08-23T15:05:09+09:00, Sunday, Asia/Tokyo (JST, UTC+09:00)",
	} {
		require.Equal(t, want, requireOK(t, call(t, tool, args{"time_zone": zone})), zone)
	}
	for _, zone := range []string{"Bejing", "CET+99", "UTC+15", "../etc/passwd", "/etc/localtime", "Asia/", "飞书", "+", "UTC+8:75", "\x00"} {
		requireError(t, call(t, tool, args{"time_zone": zone}), "use an IANA name such as Asia/Shanghai")
	}
	local := requireOK(t, call(t, tools.GetTime(now, nil), args{}))
	require.Regexp(t, `^2026-08-2\dT\d\d:\d\d:09\S+, (Satur|Sun|Mon)day, \S`, local)
}
