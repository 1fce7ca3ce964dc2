package gateway

import "fmt"

// TextKey names something the gateway says to people.
type TextKey string

// What the gateway says; in brackets what is filled in.
const (
	TextWelcome        TextKey = "welcome"
	TextOffline        TextKey = "offline"
	TextUnknownCommand TextKey = "unknown_command" // [the command, the known ones]
	TextHelp           TextKey = "help"            // [a line for each command]
	TextHelpHelp       TextKey = "help.help"
	TextHelpStop       TextKey = "help.stop"
	TextStopping       TextKey = "stopping"
	TextStopped        TextKey = "stopped"
	TextNothingToStop  TextKey = "nothing_to_stop"
	TextFailed         TextKey = "failed"
)

// English says everything in English, whatever the locale.
func English(_ string, key TextKey, args ...any) string {
	return fmt.Sprintf(english(key), args...)
}

func english(key TextKey) string {
	switch key {
	case TextWelcome:
		return "Hello. Write a message, or /help for the commands."
	case TextOffline:
		return "No model is configured: the built-in offline model answers, it only echoes and runs simple commands. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or add a provider to the config."
	case TextUnknownCommand:
		return "There is no command /%s. Known commands: %s"
	case TextHelp:
		return "Commands:\n%s"
	case TextHelpHelp:
		return "list the commands"
	case TextHelpStop:
		return "stop the running turn, else the oldest waiting one"
	case TextStopping:
		return "Stopping the running turn."
	case TextStopped:
		return "The waiting message was taken back."
	case TextNothingToStop:
		return "Nothing is running."
	case TextFailed:
		return "That did not work: the record cannot be written now. Try again."
	}
	return string(key)
}
