package tui

import "picobot/internal/protocol"

// effect is something that Update wants to be done outside.
type effect interface{ isEffect() }

type (
	// send sends a message. Its outcome comes as answered with the same number.
	send struct {
		number int
		text   string
		media  []protocol.Media
	}
	// cancelTurn stops the running turn; cancelled tells whether there was one.
	cancelTurn struct{}
	// remember puts a text into the history.
	remember struct{ text string }
	// loadSessions asks for the dialogs; sessionsLoaded brings them.
	loadSessions struct{}
	// readImages reads files that may be images; imagesRead brings them, or the text that
	// named them.
	readImages struct {
		pasted string
		paths  []string
	}
	// tick asks for ticked, a moment later.
	tick struct{}
	// suspend puts the process into the background.
	suspend struct{}
	// leave ends the conversation.
	leave struct{}
)

func (send) isEffect()         {}
func (cancelTurn) isEffect()   {}
func (remember) isEffect()     {}
func (loadSessions) isEffect() {}
func (readImages) isEffect()   {}
func (tick) isEffect()         {}
func (suspend) isEffect()      {}
func (leave) isEffect()        {}
