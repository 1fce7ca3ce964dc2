package paint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// screen is a terminal with what is on it, and what has gone up from it.
type screen struct{ *vt.Emulator }

func newScreen(width, height int) *screen { return &screen{vt.NewEmulator(width, height)} }

func (s *screen) lines() []string {
	lines := strings.Split(s.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func shows(t *testing.T, s *screen, want ...string) {
	t.Helper()
	if got := strings.Join(s.lines(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func paint(t *testing.T, p *Painter, final []string, f Frame) {
	t.Helper()
	if err := p.Paint(final, f); err != nil {
		t.Fatal(err)
	}
}

func TestPaint_FinalLines_GoAboveTheFrame(t *testing.T) {
	s := newScreen(20, 6)
	_, _ = s.WriteString("$ picobot agent\r\n")
	p := New(s, 6)
	paint(t, p, nil, Frame{Lines: []string{"one", "> "}, X: 2, Y: 1})
	shows(t, s, "$ picobot agent", "one", ">")
	paint(t, p, []string{"said"}, Frame{Lines: []string{"> 中文"}, X: 6})
	shows(t, s, "$ picobot agent", "said", "> 中文")
	if at := s.CursorPosition(); at.X != 6 || at.Y != 2 {
		t.Errorf("the cursor is at %v", at)
	}
	paint(t, p, []string{"a", "b", "c"}, Frame{Lines: []string{"x", "> "}, X: 2, Y: 1})
	shows(t, s, "said", "a", "b", "c", "x", ">")
	if err := p.Close([]string{"bye"}); err != nil {
		t.Fatal(err)
	}
	shows(t, s, "said", "a", "b", "c", "bye")
}

func TestPaint_LinesThatAreTooWide_AreCutOffAndMoveNothing(t *testing.T) {
	s := newScreen(6, 5)
	p := New(s, 5)
	wide := Frame{Lines: []string{"abcdefghij", "中文中文中文", "> "}, X: 2, Y: 2}
	paint(t, p, nil, wide)
	paint(t, p, []string{"said"}, wide)
	if got := s.lines(); len(got) != 4 || got[0] != "said" || got[3] != ">" || !strings.HasPrefix(got[1], "abcde") {
		t.Errorf("the screen shows %q", got)
	}
}

func TestPaint_FrameHigherThanTheTerminal_ShowsItsEnd(t *testing.T) {
	s := newScreen(10, 3)
	p := New(s, 3)
	f := Frame{Lines: []string{"1", "2", "3", "4", "5"}, X: 1, Y: 4}
	paint(t, p, nil, f)
	paint(t, p, nil, Frame{Lines: []string{"1", "2", "3", "4", "6"}, X: 1, Y: 4})
	shows(t, s, "3", "4", "6")
}

func TestRedraw_AnotherSize_ShowsTheLastLinesAndTheFrameOnce(t *testing.T) {
	s := newScreen(20, 8)
	p := New(s, 8)
	paint(t, p, []string{"one", "two", "three"}, Frame{Lines: []string{"live", "> hi"}, X: 4, Y: 1})
	s.Resize(10, 5)
	if err := p.Redraw(5, []string{"one", "two", "three", "four"}, Frame{Lines: []string{"live", "> hi"}, X: 4, Y: 1}); err != nil {
		t.Fatal(err)
	}
	shows(t, s, "two", "three", "four", "live", "> hi")
	paint(t, p, nil, Frame{Lines: []string{"live!", "> hi"}, X: 4, Y: 1})
	shows(t, s, "two", "three", "four", "live!", "> hi")
}

// The other screen comes and goes; what is painted after it stands below what was there.
func TestPage_ComesAndGoes_AndLeavesEverythingAsItWas(t *testing.T) {
	s := newScreen(20, 4)
	p := New(s, 4)
	frame := Frame{Lines: []string{"status", "> "}, X: 2, Y: 1}
	paint(t, p, []string{"one", "two", "three"}, frame)
	page := func(again bool, lines ...string) {
		t.Helper()
		if err := p.Page(lines, again); err != nil {
			t.Fatal(err)
		}
	}
	page(false, "a", "", "c", "end")
	shows(t, s, "a", "", "c", "end")
	page(false, "b", "", "", "end")
	shows(t, s, "b", "", "", "end")
	_, _ = s.WriteString("\x1b[Hspoilt")
	page(false, "b", "", "", "end")
	shows(t, s, "spoilt", "", "", "end")
	page(true, "b", "", "", "end")
	shows(t, s, "b", "", "", "end")
	for range 2 {
		if err := p.Back(); err != nil {
			t.Fatal(err)
		}
	}
	shows(t, s, "two", "three", "status", ">")
	if at := s.CursorPosition(); at.X != 2 || at.Y != 3 {
		t.Errorf("the cursor is at %v", at)
	}
	paint(t, p, []string{"four"}, frame)
	shows(t, s, "three", "four", "status", ">")
}

func TestPaint_NothingNew_WritesNothing(t *testing.T) {
	var out strings.Builder
	p := New(&out, 5)
	f := Frame{Lines: []string{"a", "b"}, Y: 1}
	paint(t, p, nil, f)
	n := out.Len()
	paint(t, p, nil, Frame{Lines: []string{"a", "b"}, Y: 1})
	if out.Len() != n {
		t.Errorf("wrote %q", out.String()[n:])
	}
	p.Lost()
	paint(t, p, nil, f)
	if out.Len() == n {
		t.Error("what was lost was not drawn again")
	}
}

// Whatever is painted in whatever order, the screen has the final lines that fit above
// the frame, once each and in order, and the cursor where the person types.
func TestPaint_AnySequence_LeavesWhatItShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const height = 7
		s := newScreen(12, height)
		p := New(s, height)
		var said []string
		gone := 0 // lines that have gone up from the screen, and do not come back
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			var final []string
			for range rapid.IntRange(0, 10).Draw(t, "final") {
				final = append(final, fmt.Sprintf("line %d 中", len(said)))
				said = append(said, final[len(final)-1])
			}
			f := Frame{Lines: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "yy 中", "", "a frame line too wide"}), 1, 9).Draw(t, "frame")}
			f.Y = rapid.IntRange(0, len(f.Lines)-1).Draw(t, "y")
			f.X = rapid.IntRange(0, 11).Draw(t, "x")
			if err := p.Paint(final, f); err != nil {
				t.Fatal(err)
			}
			shown := f.fit(height)
			want := append(append([]string(nil), said...), shown.Lines...)
			gone = max(gone, len(want)-height)
			top := len(said) - gone
			want = want[gone:]
			rows := strings.Split(s.String(), "\n")
			for i, l := range want {
				got := strings.TrimRight(rows[i], " ")
				if l = strings.TrimRight(l, " "); len(l) > 12 && !strings.Contains(l, "中") {
					l, got = l[:11], got[:11]
				}
				if got != l {
					t.Fatalf("row %d is %q, want %q\n%s", i, got, l, s.String())
				}
			}
			// A frame that became lower leaves room below itself, which is empty.
			for _, l := range rows[min(len(want), len(rows)):] {
				if strings.TrimRight(l, " ") != "" {
					t.Fatalf("left behind: %q", l)
				}
			}
			if at := s.CursorPosition(); at.Y != top+shown.Y || at.X != shown.X {
				t.Fatalf("the cursor is at %v, want %d,%d", at, shown.X, top+shown.Y)
			}
		}
	})
}
