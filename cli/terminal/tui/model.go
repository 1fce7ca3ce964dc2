package tui

import (
	"time"

	"picobot/internal/text"
)

// Command is a slash command that can be completed.
type Command struct {
	Name, Usage string
	Help        string // in the person's language
}

// Settings are what a conversation begins with.
type Settings struct {
	Words    *text.Catalogue
	Commands []Command
	History  []string // what was typed before, oldest first
	Colour   bool
	// MaxMessageBytes is the most that the gateway takes.
	MaxMessageBytes int
}

// Model is a conversation as it stands. Update makes the next one.
type Model struct {
	words    *text.Catalogue
	commands []Command
	colour   bool
	maxBytes int
	made     renderers // of no account: the same lines come out without it

	now           time.Time
	width, height int
	connected     bool
	session       string // "" before the first welcome
	title, model  string
	spoken        bool // the dialog has more than its greeting

	// What is over. blocks[0] is number dropped; the printed ones are only kept to be
	// shown again in another size.
	blocks  []block
	dropped int
	epoch   int // counts what makes all of it look different

	// What is under way.
	answer   answer
	calls    []call
	done     map[string]bool // calls that are over, of turns that are not
	running  map[string]time.Time
	followed map[string]bool // turns whose ends are news
	reported string          // the turn whose failure was shown last
	waiting  []waiting
	sent     int
	ticks    int
	ticking  bool

	// What is being typed.
	input    input
	complete completion
	picker   *picker
	reader   *reader
	sessions []Session // nil = not loaded
	loading  bool

	pressed time.Time // of the Ctrl-C before, if nothing was sent since
	err     error     // why the conversation broke off
}

// New returns a conversation that nothing was said in.
func New(s Settings, now time.Time) Model {
	return Model{
		words:    s.Words,
		commands: s.Commands,
		colour:   s.Colour,
		maxBytes: s.MaxMessageBytes,
		made:     renderers{},
		now:      now,
		width:    80,
		height:   24,
		done:     map[string]bool{},
		running:  map[string]time.Time{},
		followed: map[string]bool{},
		input:    newInput(s.History),
	}
}

// keptBlocks is how much of the conversation can be shown again in another size: more
// than a screen of it never is.
const keptBlocks = 300

func (m *Model) add(b block) {
	m.blocks = append(m.blocks[:len(m.blocks):len(m.blocks)], b)
	if cut := len(m.blocks) - keptBlocks; cut > 0 {
		m.blocks = append([]block(nil), m.blocks[cut:]...)
		m.dropped += cut
	}
}

func (m Model) page() page {
	return page{width: max(m.width-1, 8), colour: m.colour, words: m.words, made: m.made}
}

// Final returns the lines of the blocks from number from on.
func (m Model) Final(from int) []string { return m.finalOn(m.page(), from) }

func (m Model) finalOn(p page, from int) []string {
	var out []string
	for i := max(from-m.dropped, 0); i < len(m.blocks); i++ {
		if (i > 0 || m.dropped > 0) && (i == 0 || spaced(m.blocks[i-1], m.blocks[i])) {
			out = append(out, "")
		}
		out = append(out, m.blocks[i].lines(p)...)
	}
	return out
}

// Blocks returns how many blocks there have been.
func (m Model) Blocks() int { return m.dropped + len(m.blocks) }

// Err is why the conversation broke off; nil when the person left.
func (m Model) Err() error { return m.err }
