package tools

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// kept is an output file in memory, of limited size like a disk.
type kept struct {
	bytes.Buffer
	size int
}

func (k *kept) Write(p []byte) (int, error) {
	if k.Len()+len(p) > k.size {
		n, _ := k.Buffer.Write(p[:k.size-k.Len()])
		return n, errors.New("disk full")
	}
	return k.Buffer.Write(p)
}

func (k *kept) Close() error { return nil }

func newCapture(room int, file *kept) *capture {
	return &capture{room: room, now: time.Now, create: func() (io.WriteCloser, string) {
		if file == nil {
			return nil, ""
		}
		return file, "out.txt"
	}}
}

// However output is cut into writes: head, marker and tail tell all of it, and
// the file has every byte.
func TestCaptureLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(20, 60).Draw(t, "room")
		file := &kept{size: 1 << 30}
		c := newCapture(room, file)
		var whole bytes.Buffer
		for _, chunk := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab飞é\n")), 0, 40, -1), 0, 12).Draw(t, "chunks") {
			whole.WriteString(chunk)
			n, err := c.Write([]byte(chunk))
			require.NoError(t, err)
			require.Equal(t, len(chunk), n)
		}
		got := c.String()
		require.True(t, utf8.ValidString(got))
		if whole.Len() <= room {
			require.Equal(t, whole.String(), got)
			require.Zero(t, file.Len())
			return
		}
		require.Equal(t, whole.String(), file.String())
		head, rest, _ := strings.Cut(got, "\n[... ")
		_, tail, _ := strings.Cut(rest, " bytes left out; the whole is in out.txt ...]\n")
		require.True(t, strings.HasPrefix(whole.String(), head))
		require.True(t, strings.HasSuffix(whole.String(), tail))
		require.LessOrEqual(t, len(head)+len(tail), room)
		require.Greater(t, len(head)+len(tail), room-2*utf8.UTFMax)
		require.Equal(t, leftOut(whole.Len()-len(head)-len(tail), "bytes", "out.txt"), got[len(head):len(got)-len(tail)])
		require.LessOrEqual(t, len(c.tail), 2*max(room, 160))
	})
}

func TestCaptureGoesOnWithoutAFile(t *testing.T) {
	long := strings.Repeat("x", 1000)
	full := &kept{size: 300}
	for file, says := range map[*kept]string{nil: " bytes left out ...]", full: "the whole is in out.txt (its first 300 bytes) ...]"} {
		c := newCapture(100, file)
		for range 5 {
			_, err := io.WriteString(c, long)
			require.NoError(t, err)
		}
		c.close()
		require.Contains(t, c.String(), says)
		require.Contains(t, c.String(), "4900 bytes left out")
	}
}

func TestCaptureTellsWholeLinesNowAndThen(t *testing.T) {
	now := time.Unix(1000, 0)
	var lines []string
	c := newCapture(1000, nil)
	c.now = func() time.Time { return now }
	c.progress = func(line string) { lines = append(lines, line) }
	for _, step := range []struct {
		text string
		wait time.Duration
	}{
		{"one\ntwo\nth", 0}, {"ree\n", time.Second}, {"too soon\n", 0}, {"a", time.Second}, {"b", 0}, {"c\nunfinished", 0}, {"\n\n", time.Second},
	} {
		now = now.Add(step.wait)
		_, _ = io.WriteString(c, step.text)
	}
	require.Equal(t, []string{"two", "three", "abc"}, lines)
}
