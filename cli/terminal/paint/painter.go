package paint

import (
	"io"
	"slices"
	"strconv"
	"strings"
)

// Frame is what stands below the final lines, and where the person's cursor is in it.
// A line has no newline; one wider than the terminal is cut off by it.
type Frame struct {
	Lines []string
	X, Y  int
}

// Painter owns the lower end of the terminal from its first Paint to Close.
// Not safe for concurrent use.
type Painter struct {
	w      io.Writer
	height int
	shown  Frame
	dirty  bool     // what is on the screen is not what was drawn
	page   []string // on the terminal's other screen; nil = that is not shown
}

// New returns a Painter that writes to w, where the cursor stands at the start of a line.
func New(w io.Writer, height int) *Painter { return &Painter{w: w, height: max(height, 1)} }

const (
	beginUpdate = "\x1b[?2026h\x1b[?25l" // all at once, where the terminal can
	endUpdate   = "\x1b[?25h\x1b[?2026l"
	noWrap      = "\x1b[?7l"
	wrap        = "\x1b[?7h"
	eraseBelow  = "\x1b[J"
	eraseLine   = "\x1b[2K"
	home        = "\x1b[H\x1b[2J"
	toOther     = "\x1b[?1049h\x1b[?25l"
	fromOther   = "\x1b[?1049l\x1b[?25h"
)

// Page shows lines on the terminal's other screen, as many as it is high. Final lines
// and frame stay as they are, until Back. With again, what stands there is not trusted.
func (p *Painter) Page(lines []string, again bool) error {
	if p.page != nil && !again && slices.Equal(p.page, lines) {
		return nil
	}
	var out strings.Builder
	if p.page == nil {
		out.WriteString(toOther)
	}
	out.WriteString("\x1b[?2026h\x1b[H" + noWrap)
	for i, l := range lines {
		out.WriteString(eraseLine + l)
		if i < len(lines)-1 {
			out.WriteString("\r\n")
		}
	}
	out.WriteString(eraseBelow + wrap + "\x1b[?2026l")
	p.page = append([]string{}, lines...)
	_, err := io.WriteString(p.w, out.String())
	return err
}

// Back shows final lines and frame again as they were. The cursor is where it was.
func (p *Painter) Back() error {
	if p.page == nil {
		return nil
	}
	p.page = nil
	_, err := io.WriteString(p.w, fromOther)
	return err
}

// Paint adds final lines above the frame and draws the frame. A frame that is higher
// than the terminal loses its first lines.
func (p *Painter) Paint(final []string, f Frame) error {
	f = f.fit(p.height)
	if len(final) == 0 && !p.dirty && same(p.shown, f) {
		return nil
	}
	var out strings.Builder
	out.WriteString(beginUpdate)
	out.WriteString(p.toTop())
	for _, l := range final {
		out.WriteString(eraseLine + l + "\r\n")
	}
	p.draw(&out, f, len(final) == 0 && !p.dirty)
	out.WriteString(endUpdate)
	p.shown, p.dirty = f, false
	_, err := io.WriteString(p.w, out.String())
	return err
}

// Redraw clears the screen and draws lines and frame anew: the terminal has another
// size, or what was final is to be shown otherwise. Of the lines the last ones are
// shown, as many as there is room for: the others are in the scrollback already.
func (p *Painter) Redraw(height int, lines []string, f Frame) error {
	p.height = max(height, 1)
	f = f.fit(p.height)
	if room := p.height - len(f.Lines); len(lines) > room {
		lines = lines[len(lines)-max(room, 0):]
	}
	var out strings.Builder
	out.WriteString(beginUpdate + home)
	for _, l := range lines {
		out.WriteString(noWrap + l + wrap + "\r\n")
	}
	p.draw(&out, f, false)
	out.WriteString(endUpdate)
	p.shown, p.dirty = f, false
	_, err := io.WriteString(p.w, out.String())
	return err
}

// Lost tells that somebody else wrote to the terminal: the cursor is at the start of
// an empty line.
func (p *Painter) Lost() { p.shown, p.dirty = Frame{}, true }

// Close adds final lines and takes the frame away.
func (p *Painter) Close(final []string) error {
	var out strings.Builder
	out.WriteString(p.toTop() + eraseBelow)
	for _, l := range final {
		out.WriteString(l + "\r\n")
	}
	p.shown = Frame{}
	_, err := io.WriteString(p.w, out.String())
	return err
}

// toTop moves from the person's cursor to the start of the frame.
func (p *Painter) toTop() string {
	if p.shown.Y == 0 {
		return "\r"
	}
	return "\r\x1b[" + strconv.Itoa(p.shown.Y) + "A"
}

// draw writes the frame from its top and puts the cursor where it belongs. With keep,
// lines that stand there already are left alone.
func (p *Painter) draw(out *strings.Builder, f Frame, keep bool) {
	keep = keep && len(f.Lines) == len(p.shown.Lines)
	out.WriteString(noWrap)
	for i, l := range f.Lines {
		switch last := i == len(f.Lines)-1; {
		case keep && l == p.shown.Lines[i]:
		case last:
			out.WriteString(eraseBelow + l)
		default:
			out.WriteString(eraseLine + l)
		}
		if i < len(f.Lines)-1 {
			out.WriteString("\r\n")
		}
	}
	if len(f.Lines) == 0 {
		out.WriteString(eraseBelow)
	}
	out.WriteString(wrap + "\r")
	if up := len(f.Lines) - 1 - f.Y; up > 0 {
		out.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	if f.X > 0 {
		out.WriteString("\x1b[" + strconv.Itoa(f.X) + "C")
	}
}

// fit cuts the frame to the height of the terminal.
func (f Frame) fit(height int) Frame {
	if cut := len(f.Lines) - height; cut > 0 {
		f.Lines, f.Y = f.Lines[cut:], f.Y-cut
	}
	f.Y = min(max(f.Y, 0), max(len(f.Lines)-1, 0))
	f.X = max(f.X, 0)
	return f
}

func same(a, b Frame) bool {
	if a.X != b.X || a.Y != b.Y || len(a.Lines) != len(b.Lines) {
		return false
	}
	for i := range a.Lines {
		if a.Lines[i] != b.Lines[i] {
			return false
		}
	}
	return true
}
