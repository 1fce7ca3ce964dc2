package app

import (
	"fmt"

	"picobot/gateway"
	"picobot/internal/text"
)

// texts says what the gateway has to say in the language of whoever listens, by
// default in that of the configuration.
func texts(locale string) func(string, gateway.TextKey, ...any) string {
	return func(wanted string, key gateway.TextKey, args ...any) string {
		if wanted == "" {
			wanted = locale
		}
		if m := message(key, args); m != nil {
			return text.For(wanted).Say(m)
		}
		return gateway.English(wanted, key, args...)
	}
}

// message finds the catalogue's message for a key of the gateway, nil when there is none.
func message(key gateway.TextKey, args []any) text.Message {
	switch key {
	case gateway.TextWelcome:
		return text.Welcome{}
	case gateway.TextOffline:
		return text.OfflineNotice{}
	case gateway.TextUnknownCommand:
		if len(args) == 2 {
			return text.UnknownCommand{Name: fmt.Sprint(args[0]), Known: fmt.Sprint(args[1])}
		}
	case gateway.TextHelpHelp:
		return text.HelpHelp{}
	case gateway.TextHelpStop:
		return text.HelpStop{}
	case gateway.TextStopping:
		return text.StopRequested{}
	case gateway.TextNothingToStop:
		return text.StopNothing{}
	case gateway.TextFailed:
		return text.StoreUnavailable{}
	}
	return nil
}
