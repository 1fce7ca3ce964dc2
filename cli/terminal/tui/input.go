package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// input is what is being typed, and what was typed before.
type input struct {
	area    textarea.Model
	pasted  []pasted // what stands in the text for more than itself
	pastes  int      // counts them in this conversation
	history []string
	at      int    // in history; len(history) = the text that is new
	draft   string // the new text while an old one is shown
}

const promptWidth = 2

func newInput(history []string) input {
	a := textarea.New()
	a.ShowLineNumbers = false
	a.SetPromptFunc(promptWidth, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	a.CharLimit = 0
	a.DynamicHeight, a.MinHeight, a.MaxHeight, a.MaxContentHeight = true, 1, 8, 100_000
	a.EndOfBufferCharacter = ' '
	a.SetVirtualCursor(false) // the terminal's own is where input methods look
	var bare textarea.StyleState
	a.SetStyles(textarea.Styles{Focused: bare, Blurred: bare, Cursor: textarea.CursorStyle{Color: lipgloss.NoColor{}}})
	a.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	for _, off := range []*key.Binding{&a.KeyMap.Paste, &a.KeyMap.TransposeCharacterBackward, &a.KeyMap.SelectAll, &a.KeyMap.CopySelection} {
		off.SetEnabled(false)
	}
	_ = a.Focus()
	return input{area: a, history: history, at: len(history)}
}

func (in *input) empty() bool { return in.area.Value() == "" }

func (in *input) key(k tea.KeyPressMsg) {
	if k.String() == "backspace" {
		if n := in.pastedBefore(); n > 1 {
			for range n {
				in.area, _ = in.area.Update(k)
			}
			return
		}
	}
	in.area, _ = in.area.Update(k)
}

// set replaces the text; the cursor is behind it.
func (in *input) set(text string) {
	in.area.SetValue(text)
	in.area.MoveToEnd()
}

func (in *input) clear() {
	in.set("")
	in.pasted, in.at, in.draft = nil, len(in.history), ""
}

// sent clears the input and puts what was sent into the history.
func (in *input) sent(text string) {
	if n := len(in.history); n == 0 || in.history[n-1] != text {
		in.history = append(in.history[:n:n], text)
	}
	in.clear()
}

// continues turns a backslash at the end into a new line.
func (in *input) continues() bool {
	text := in.area.Value()
	if !strings.HasSuffix(text, `\`) || in.cursor() != len(text) {
		return false
	}
	in.set(strings.TrimSuffix(text, `\`) + "\n")
	return true
}

// cursor is how many bytes of the text are before the cursor.
func (in *input) cursor() int {
	lines := strings.Split(in.area.Value(), "\n")
	at := 0
	for i := range min(in.area.Line(), len(lines)) {
		at += len(lines[i]) + 1
	}
	line := []rune(lines[min(in.area.Line(), len(lines)-1)])
	return at + len(string(line[:min(in.area.Column(), len(line))]))
}

// back shows the text that was typed before the one that is shown, if the cursor is
// in the first line of that.
func (in *input) back() bool {
	info := in.area.LineInfo()
	if in.area.Line() > 0 || info.RowOffset > 0 || in.at == 0 {
		return false
	}
	if in.at == len(in.history) {
		in.draft = in.area.Value()
	}
	in.at--
	in.set(in.history[in.at])
	return true
}

// forward is the way back from back.
func (in *input) forward() bool {
	info := in.area.LineInfo()
	if in.area.Line() < in.area.LineCount()-1 || info.RowOffset < info.Height-1 || in.at >= len(in.history) {
		return false
	}
	in.at++
	if in.at == len(in.history) {
		in.set(in.draft)
	} else {
		in.set(in.history[in.at])
	}
	return true
}

// lines shows the input at a width, at most most lines of it, and where the cursor is.
func (in *input) lines(width, most int) (lines []string, x, y int) {
	in.area.MaxHeight = max(most, 1)
	in.area.SetWidth(max(width, promptWidth+4))
	in.area, _ = in.area.Update(nil) // the cursor has to be in what is shown, also after another size
	lines = strings.Split(in.area.View(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	if len(lines) > 0 && !strings.HasPrefix(lines[0], ">") && strings.TrimSpace(lines[0]) == "" {
		lines[0] = strings.TrimRight(lines[0], " ")
	}
	if c := in.area.Cursor(); c != nil {
		x, y = c.X, c.Y
	}
	return lines, x, y
}
