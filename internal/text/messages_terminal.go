package text

// What the terminal says around a conversation.
type (
	// TerminalGreeting greets when a conversation begins and when it turns to another dialog.
	TerminalGreeting struct {
		msg
		Title, Model string
	}
	// TerminalKeys names the keys worth knowing.
	TerminalKeys struct{ msg }
	// TerminalEarlier stands above what was said before.
	TerminalEarlier struct{ msg }
	// TerminalConnecting stands where no gateway is connected.
	TerminalConnecting struct{ msg }
	// TerminalWorking stands below an answer that is being made; For is how long it takes so far.
	TerminalWorking struct {
		msg
		For string
	}
	// TerminalThinking stands above thoughts as they come.
	TerminalThinking struct{ msg }
	// TerminalThought stands for thoughts that are over; For is how long they took.
	TerminalThought struct {
		msg
		For string
	}
	// TerminalThoughts stands for thoughts that nobody timed.
	TerminalThoughts struct{ msg }
	// TerminalMore stands for lines that are not shown.
	TerminalMore struct {
		msg
		Lines int
	}
	// TerminalReading stands below the conversation with everything unfolded; At is how far
	// it is shown.
	TerminalReading struct {
		msg
		At string
	}
	// TerminalWaits stands beside a message that is not being answered yet.
	TerminalWaits struct{ msg }
	// AnswerBeginsAgain is said when what was shown of an answer is replaced.
	AnswerBeginsAgain struct{ msg }
	// EarlierAnswerFirst is said to who asks something while something else is being answered.
	EarlierAnswerFirst struct{ msg }
	// SeenNotKept tells that what was shown could not be noted as seen, and why.
	SeenNotKept struct {
		msg
		Detail string
	}
	// AnsweredMeanwhile tells a script that another message of the dialog was answered:
	// before it came, or from elsewhere.
	AnsweredMeanwhile struct {
		msg
		Said, Answer string
	}
	// AnsweredBefore is AnsweredMeanwhile of a message that was seen some time before.
	AnsweredBefore struct {
		msg
		Answer string
	}
)

// What becomes of messages and turns, as a client says it.
type (
	// StoppingTurn answers the first Ctrl-C.
	StoppingTurn struct{ msg }
	// PressAgain answers a Ctrl-C that had nothing to stop.
	PressAgain struct{ msg }
	// AnswerElsewhere tells that an answer is not waited for, because the conversation
	// turned to another dialog.
	AnswerElsewhere struct {
		msg
		SessionID string
	}
	// TurnWasCancelled tells how a turn ended.
	TurnWasCancelled struct{ msg }
	// TurnHasFailed tells how a turn ended, and why.
	TurnHasFailed struct {
		msg
		Detail string
	}
	// TurnFailedUnexplained tells how a turn ended of which nothing else is known.
	TurnFailedUnexplained struct{ msg }
	// CommandHasFailed tells how a command ended, and why.
	CommandHasFailed struct {
		msg
		Detail string
	}
	// MessageRefused tells that the gateway did not take a message.
	MessageRefused struct {
		msg
		Message, Code string
	}
	// GatewaySays passes on an error of the gateway that belongs to no message.
	GatewaySays struct {
		msg
		Message, Code string
	}
	// NoticeWarning marks a notice as a warning.
	NoticeWarning struct {
		msg
		Notice string
	}
	// NoticeError marks a notice as an error.
	NoticeError struct {
		msg
		Notice string
	}
	// WaitInterrupted is said when somebody stops waiting for an answer.
	WaitInterrupted struct{ msg }
	// MessagesUnsent is said to who leaves while messages are on their way.
	MessagesUnsent struct {
		msg
		Count int
	}
	// TurnGoesOnLater is said to who leaves and takes the gateway along.
	TurnGoesOnLater struct{ msg }
	// TurnGoesOn is said to who leaves while a turn runs.
	TurnGoesOn struct{ msg }
)

// How tool calls ended, beside their summaries.
type (
	// ToolFailed marks a call that failed.
	ToolFailed struct{ msg }
	// ToolUnknown marks a call of which nobody knows whether it was done.
	ToolUnknown struct{ msg }
	// ToolStopped marks a call whose turn ended before it.
	ToolStopped struct{ msg }
)

// What is pasted, and what is chosen from lists.
type (
	// PastedText stands in the input for a long text.
	PastedText struct {
		msg
		Number, Lines int
	}
	// PastedImage stands in the input for an image.
	PastedImage struct {
		msg
		Number int
		Name   string
	}
	// ImageNotTaken is said when an image cannot be attached.
	ImageNotTaken struct {
		msg
		Name, Detail string
	}
	// ImageTooLarge is why an image is not attached.
	ImageTooLarge struct {
		msg
		MB int
	}
	// PickDialog stands above the list of dialogs.
	PickDialog struct{ msg }
	// PickHistory stands above the list of what was said.
	PickHistory struct{ msg }
	// PickNothing stands in a list that is empty.
	PickNothing struct{ msg }
	// PickLoading stands in a list that is on its way.
	PickLoading struct{ msg }
	// DialogsNotListed is said when the dialogs cannot be listed.
	DialogsNotListed struct {
		msg
		Detail string
	}
)
