package text

// What a Feishu chat is shown besides answers.
type (
	// FeishuWorking stands on a card while its turn runs.
	FeishuWorking struct{ msg }
	// FeishuRefused stands in the place of an answer that Feishu does not let through.
	FeishuRefused struct {
		msg
		Code string
	}
)
