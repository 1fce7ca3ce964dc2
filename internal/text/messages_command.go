package text

// Sessions.
type (
	// DefaultTitle names a dialog that has no title yet.
	DefaultTitle struct{ msg }
	// UntitledDialog stands for the title of a dialog that nobody has named and that is not new.
	UntitledDialog struct{ msg }
	// Welcome greets in a new session.
	Welcome struct{ msg }
)

// What is wrong with a command.
type (
	// UnknownCommand answers a command that does not exist; Known lists those that do.
	UnknownCommand struct {
		msg
		Name, Known string
	}
	// CommandUsage answers a command with wrong arguments; Usage is how it is written.
	CommandUsage struct {
		msg
		Usage string
	}
	// SessionReadOnly answers a command that would change a session of another channel, or
	// one that was deleted.
	SessionReadOnly struct{ msg }
	// NoSuchDialog answers /use and /switch that name nothing.
	NoSuchDialog struct {
		msg
		Name string
	}
	// NoSuchAgent answers /agent with an unknown name; Known lists the agents.
	NoSuchAgent struct {
		msg
		Name, Known string
	}
)

// What commands answer.
type (
	// DialogCreated answers /new.
	DialogCreated struct {
		msg
		Title string
	}
	// DialogSwitched answers /use and /switch.
	DialogSwitched struct {
		msg
		Title string
	}
	// DialogReset answers /reset.
	DialogReset struct{ msg }
	// DialogRenamed answers /rename.
	DialogRenamed struct {
		msg
		Title string
	}
	// DialogDeleted answers /delete; Next is the dialog that is active now.
	DialogDeleted struct {
		msg
		Title, Next string
	}
	// ChatMoved tells who stays in a dialog, Here, that the chat was taken to another one elsewhere.
	ChatMoved struct {
		msg
		Title, Here, DialogID string
	}
	// SessionsHeading stands above the list of /sessions.
	SessionsHeading struct{ msg }
	// SessionsItem is one line of /sessions.
	SessionsItem struct {
		msg
		Number          int
		Title, DialogID string
		Messages        int
	}
	// SessionsCurrent is one line of /sessions: the active dialog.
	SessionsCurrent struct {
		msg
		Number          int
		Title, DialogID string
		Messages        int
	}
	// SessionsHint stands below the list of /sessions.
	SessionsHint struct{ msg }
	// SessionInfo answers /info.
	SessionInfo struct {
		msg
		Title, DialogID, SessionID, Agent, Model, Created string
		Messages, Rows, TokensIn, TokensOut               int
	}
	// SessionWorkflow is a last line of /info: where the work of the session can be watched.
	SessionWorkflow struct {
		msg
		Where string
	}
	// SessionsNone answers /sessions where there is no dialog.
	SessionsNone struct{ msg }
	// StopRequested answers /stop.
	StopRequested struct{ msg }
	// StopNothing answers /stop while nothing runs and nothing waits.
	StopNothing struct{ msg }
	// CompactStarted answers /compact.
	CompactStarted struct{ msg }
	// CompactNothing answers /compact when it would gain nothing.
	CompactNothing struct{ msg }
	// Compacted tells who said /compact that it is done; Before and After are tokens.
	Compacted struct {
		msg
		Title         string
		Before, After int
	}
	// CompactedByTranscript tells the same where the model wrote no summary.
	CompactedByTranscript struct {
		msg
		Title         string
		Before, After int
	}
	// CompactFruitless tells who said /compact that it would have gained too little.
	CompactFruitless struct {
		msg
		Title string
	}
	// CompactModelUnusable tells who said /compact that nobody could be asked for a summary.
	CompactModelUnusable struct {
		msg
		Title string
	}
	// AgentCurrent answers /agent; Known lists the agents.
	AgentCurrent struct {
		msg
		Name, Known string
	}
	// AgentKept tells somebody who asked for an agent that the dialog has another one.
	AgentKept struct {
		msg
		Name, Wanted string
	}
	// AgentChanged answers /agent NAME.
	AgentChanged struct {
		msg
		Name, Model string
	}
)

// The lines of /help and of the terminal's completion: what each command does.
type (
	// HelpHeading stands above the list of commands.
	HelpHeading struct{ msg }
	// HelpNew describes /new.
	HelpNew struct{ msg }
	// HelpReset describes /reset.
	HelpReset struct{ msg }
	// HelpSessions describes /sessions.
	HelpSessions struct{ msg }
	// HelpUse describes /use.
	HelpUse struct{ msg }
	// HelpSwitch describes /switch.
	HelpSwitch struct{ msg }
	// HelpRename describes /rename.
	HelpRename struct{ msg }
	// HelpDelete describes /delete.
	HelpDelete struct{ msg }
	// HelpInfo describes /info.
	HelpInfo struct{ msg }
	// HelpCompact describes /compact.
	HelpCompact struct{ msg }
	// HelpStop describes /stop.
	HelpStop struct{ msg }
	// HelpAgent describes /agent.
	HelpAgent struct{ msg }
	// HelpHelp describes /help.
	HelpHelp struct{ msg }
)
