package prompt

import (
	"fmt"
	"slices"

	"picobot/internal/chat"
)

// MaxBytes is how much text a window of so many tokens can hold at most: what is
// further back need not be read. A token is four ASCII characters at most, or one
// rune of at most four bytes.
func MaxBytes(windowTokens int) int { return 4 * windowTokens }

// Fit makes messages fit into a window of maxTokens. What is least needed goes
// first: earlier turns, oldest first; then, of the running turn (what follows the
// last user message), tool results, which are replaced by a stub that says where the
// whole is; then its oldest steps. keep stores a result and returns that place, a
// path the model can read. System rows, the last user message and the newest step
// stay whole, and a line says where something was left out, be it here or (cut) before
// the messages came here. Messages that do not fit even so are returned as they are
// then: the provider decides.
func Fit(messages []chat.Message, cut bool, maxTokens int, keep func(chat.Message) (string, error)) ([]chat.Message, error) {
	f := fitting{messages: messages, cut: cut, size: totalWeight(messages), max: maxTokens}
	if !cut && (maxTokens <= 0 || f.fits()) {
		return messages, nil
	}
	f.messages, f.out = slices.Clone(messages), make([]bool, len(messages))
	f.size += Weight(leftOut) // it may well be needed
	if maxTokens <= 0 || f.fits() {
		return f.result(), nil
	}
	asked := lastUser(messages)
	f.leaveOut(0, max(asked, 0), chat.RoleUser)
	newest := f.newestStep(asked + 1)
	if err := f.stub(asked+1, newest, keep); err != nil {
		return nil, err
	}
	f.leaveOut(asked+1, newest, chat.RoleAssistant)
	return f.result(), nil
}

// leftOut stands where messages were left out.
var leftOut = chat.Message{Role: chat.RoleSystem, Content: "[Earlier messages of this conversation are left out here, because they do not fit.]"}

type fitting struct {
	messages []chat.Message
	out      []bool // left out
	cut      bool   // there were messages before these
	size     int    // weight of what is not
	max      int    // tokens
}

func (f *fitting) fits() bool { return Tokens(f.size) <= f.max }

// leaveOut leaves out whole groups of [from, to) until the rest fits. A group begins
// with a message of the given role.
func (f *fitting) leaveOut(from, to int, begins chat.Role) {
	for i := from; i < to; i++ {
		m := f.messages[i]
		if m.Role == chat.RoleSystem {
			continue
		}
		if m.Role == begins && f.fits() {
			return
		}
		f.out[i] = true
		f.size -= Weight(m)
	}
}

// stub replaces results of [from, to), oldest first, until everything fits.
func (f *fitting) stub(from, to int, keep func(chat.Message) (string, error)) error {
	for i := from; i < to && !f.fits(); i++ {
		m := f.messages[i]
		if m.Role != chat.RoleTool || Weight(m) <= stubWeight {
			continue
		}
		path, err := keep(m)
		if err != nil {
			return fmt.Errorf("keep the result of %s: %w", m.ToolName, err)
		}
		f.messages[i].Content = fmt.Sprintf("(this result was left out because the conversation is long; the whole is in %s, read it with file_read)", path)
		f.size += Weight(f.messages[i]) - Weight(m)
	}
	return nil
}

// stubWeight: results that are not much larger than their stub stay.
const stubWeight = 4 * 100

// newestStep returns where the last step that begins at or after from begins.
func (f *fitting) newestStep(from int) int {
	for i := len(f.messages) - 1; i >= from; i-- {
		if f.messages[i].Role == chat.RoleAssistant {
			return i
		}
	}
	return from
}

// result is what is left, with a line where the first message is missing.
func (f *fitting) result() []chat.Message {
	var out []chat.Message
	said := false
	for i, m := range f.messages {
		if !said && (f.out[i] || f.cut && m.Role != chat.RoleSystem) {
			out, said = append(out, leftOut), true
		}
		if !f.out[i] {
			out = append(out, m)
		}
	}
	return out
}

func lastUser(messages []chat.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == chat.RoleUser {
			return i
		}
	}
	return -1
}
