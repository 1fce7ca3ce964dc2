package prompt

import (
	"fmt"
	"time"

	"picobot/internal/chat"
)

// Dated is a row and when it was written.
type Dated struct {
	chat.Message
	At time.Time
}

// Place is where a conversation takes place.
type Place struct {
	Channel string
	Zone    *time.Location // dates are told in it
}

// WithDays adds what a model must know of time and place: before the first user message
// (at the end of the agent's prompt, where that comes right before it: some models take
// one system message only) the channel, the zone and the day, and before the first one
// of each later day that day. It all follows from the rows, so the messages that stand before it in one
// request stand before it in every later one, and what a provider has cached of them
// stays good. The time of day is not told: it would be wrong a minute later, and the
// model can ask for it.
func WithDays(rows []Dated, p Place) []chat.Message {
	out := make([]chat.Message, 0, len(rows)+1)
	told := ""
	for _, r := range rows {
		if r.Role == chat.RoleUser {
			at := r.At.In(p.Zone)
			switch day := at.Format("Monday, 2 January 2006"); {
			case told == "":
				out = withNote(out, fmt.Sprintf("[The person writes through the channel %q. Today is %s, in the time zone %s. get_time tells the time.]", p.Channel, day, zoneName(at)))
				told = day
			case day != told:
				out = append(out, chat.Message{Role: chat.RoleSystem, Content: fmt.Sprintf("[Today is %s.]", day)})
				told = day
			}
		}
		out = append(out, r.Message)
	}
	return out
}

func withNote(out []chat.Message, note string) []chat.Message {
	if n := len(out); n > 0 && out[n-1].Marker == chat.MarkerAgentPrompt {
		out[n-1].Content += "\n\n" + note
		return out
	}
	return append(out, chat.Message{Role: chat.RoleSystem, Content: note})
}

// zoneName names a zone for people: the machine's own has no other name than its offset.
func zoneName(at time.Time) string {
	if name := at.Location().String(); name != "Local" && name != "" {
		return name
	}
	return "UTC" + at.Format("-07:00")
}
