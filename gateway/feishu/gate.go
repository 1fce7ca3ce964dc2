package feishu

import "slices"

// policy is who may talk to the bot, and where.
type policy struct {
	bot            string // its open_id
	allow          []string
	requireMention bool
}

// Reasons for not listening, for the log.
const (
	whyBot        = "a bot said it"
	whyNotAllowed = "the sender is not in channels.feishu.allow_from"
	whyNotMeant   = "the bot was not mentioned"
	whySystem     = "it is a notice of feishu's own"
)

// decide says whether a message is for the bot; why says why not. It looks at ids
// only: names can be anybody's.
func (p policy) decide(m message) (ok bool, why string) {
	switch {
	case m.senderType != "user" || slices.Contains(m.sender, p.bot):
		return false, whyBot
	case m.kind == "system":
		return false, whySystem
	case !p.allowed(m.sender):
		return false, whyNotAllowed
	case m.chatType != "p2p" && p.requireMention && !m.mentions(p.bot):
		return false, whyNotMeant
	}
	return true, ""
}

// allowed reports whether one of a person's ids is on the list.
func (p policy) allowed(ids []string) bool {
	return slices.ContainsFunc(p.allow, func(id string) bool { return id == "*" || slices.Contains(ids, id) })
}
