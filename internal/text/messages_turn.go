package text

// The built-in model.
type (
	// OfflineNotice is said at every start and with every first reply while the
	// built-in model answers.
	OfflineNotice struct{ msg }
)

// Why the model gave no answer, one text for each kind of llm.Error. ModelFailed
// chooses among them. Model and Provider are names of the configuration; Detail is
// what the provider said.
type (
	// ModelRateLimited is kind rate_limited.
	ModelRateLimited struct {
		msg
		Model, Provider string
	}
	// ModelOverloaded is kind overloaded.
	ModelOverloaded struct {
		msg
		Model, Provider string
	}
	// ModelServerError is kind server_error.
	ModelServerError struct {
		msg
		Model, Provider, Detail string
	}
	// ModelTimeout is kind timeout.
	ModelTimeout struct {
		msg
		Model, Provider string
	}
	// ModelUnreachable is kind transport.
	ModelUnreachable struct {
		msg
		Model, Provider string
	}
	// ModelIncomplete is kind incomplete_stream.
	ModelIncomplete struct {
		msg
		Model, Provider string
	}
	// ModelAuth is kind auth.
	ModelAuth struct {
		msg
		Model, Provider string
	}
	// ModelQuota is kind quota.
	ModelQuota struct {
		msg
		Model, Provider string
	}
	// ModelNotFound is kind not_found.
	ModelNotFound struct {
		msg
		Model, Provider string
	}
	// ModelBadRequest is kind bad_request.
	ModelBadRequest struct {
		msg
		Model, Provider, Detail string
	}
	// ModelContextTooLarge is kind context_too_large.
	ModelContextTooLarge struct {
		msg
		Model, Provider string
	}
	// ModelContentFiltered is kind content_filtered.
	ModelContentFiltered struct {
		msg
		Model, Provider string
	}
	// ModelCanceled is kind canceled: the call was given up from our side.
	ModelCanceled struct {
		msg
		Model, Provider string
	}
)

// How a turn ends other than with an answer of the model.
type (
	// TurnFailed is said of a failure that has no text of its own.
	TurnFailed struct {
		msg
		Detail string
	}
	// TurnCancelled is said of a turn that somebody stopped.
	TurnCancelled struct{ msg }
	// PoisonTurn is said of a turn whose process died each time it was started.
	PoisonTurn struct {
		msg
		Attempts int
	}
	// ToolLimitReached is said of a turn that used all its model calls.
	ToolLimitReached struct {
		msg
		Limit int
	}
	// ToolKeepsFailing is said of a turn ended because one call failed again and again.
	ToolKeepsFailing struct {
		msg
		Tool  string
		Times int
	}
	// EmptyAnswer is said when the model answered with nothing.
	EmptyAnswer struct {
		msg
		Model string
	}
	// AnswerCut follows an answer that reached the length limit.
	AnswerCut struct {
		msg
		Model string
	}
)

// What is said while a turn runs whose model fails. Why is one of the texts below.
type (
	// ModelRetried is said when a call is made again only after a while.
	ModelRetried struct {
		msg
		Model, Provider, Why string
		Seconds              int
	}
	// UsingFallback is said when another model takes over.
	UsingFallback struct {
		msg
		Model, Why, Fallback string
	}
	// FallbacksFailed is why a turn failed that had several models: Reason is the whole
	// text for the first of them, Others lists the rest, each as FailedToo.
	FallbacksFailed struct {
		msg
		Reason, Others string
	}
	// JobFailed is the notice of a scheduled job that failed.
	JobFailed struct {
		msg
		Job    string
		Reason string
	}
	// JobFailedTurn is JobFailed of a job that was a turn.
	JobFailedTurn struct {
		msg
		Job    string
		Reason string
		Turn   string
	}
	// FailedToo names one model that failed beside others.
	FailedToo struct {
		msg
		Model, Why string
	}
)

// The kinds of llm.Error in a few words. WhyModelFailed chooses among them.
type (
	// WhyRateLimited is kind rate_limited.
	WhyRateLimited struct{ msg }
	// WhyOverloaded is kind overloaded.
	WhyOverloaded struct{ msg }
	// WhyServerError is kind server_error.
	WhyServerError struct{ msg }
	// WhyTimeout is kind timeout.
	WhyTimeout struct{ msg }
	// WhyUnreachable is kind transport.
	WhyUnreachable struct{ msg }
	// WhyIncomplete is kind incomplete_stream.
	WhyIncomplete struct{ msg }
	// WhyAuth is kind auth.
	WhyAuth struct{ msg }
	// WhyQuota is kind quota.
	WhyQuota struct{ msg }
	// WhyNotFound is kind not_found.
	WhyNotFound struct{ msg }
	// WhyBadRequest is kind bad_request.
	WhyBadRequest struct{ msg }
	// WhyContextTooLarge is kind context_too_large.
	WhyContextTooLarge struct{ msg }
	// WhyContentFiltered is kind content_filtered.
	WhyContentFiltered struct{ msg }
	// WhyCanceled is kind canceled.
	WhyCanceled struct{ msg }
	// WhyUnknown is said of a kind that is none of these.
	WhyUnknown struct{ msg }
)
