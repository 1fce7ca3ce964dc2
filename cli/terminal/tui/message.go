package tui

import (
	"strings"

	"picobot/cli/client"
	"picobot/internal/protocol"
)

// What Update is told besides keys, pastes and sizes.
type (
	// sized is how many columns and lines the terminal has now.
	sized struct{ width, height int }
	// frame is what the gateway says.
	frame struct{ protocol.ServerFrame }
	// earlier are rows from before this conversation, oldest first.
	earlier struct{ rows []protocol.Message }
	// say is a line that is neither of the conversation nor of the gateway.
	say struct{ text string }
	// lost tells that the connection is lost.
	lost struct{}
	// answered is how a message ended.
	answered struct {
		number  int
		outcome client.Outcome
		err     error
	}
	// cancelled answers cancelTurn.
	cancelled struct{ stopped bool }
	// sessionsLoaded answers loadSessions.
	sessionsLoaded struct {
		sessions []Session
		err      error
	}
	// imagesRead answers readImages. images is nil when what was pasted is only text.
	imagesRead struct {
		pasted string
		images []Image
		err    error
		failed string // name of the file that err is about
	}
	// ticked comes some times a second while something moves.
	ticked struct{}
	// redraw is after something else was on the terminal.
	redraw struct{}
)

// Session is a dialog that can be chosen.
type Session struct {
	ID, Title string
	Messages  int
}

// dialog is the part of the id that /use takes.
func (s Session) dialog() string { return oneLine(s.ID[strings.LastIndexByte(s.ID, ':')+1:]) }

// Image is a file that goes with a message.
type Image struct {
	Name string // of the file, without its directory
	MIME string
	Data []byte
}
