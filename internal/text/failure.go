package text

import (
	"strconv"

	"picobot/internal/llm"
)

// ModelFailed returns the text for a model call that failed for good.
func ModelFailed(e *llm.Error) Message {
	m, p := e.Model, e.Provider
	switch e.Kind {
	case llm.KindRateLimited:
		return ModelRateLimited{Model: m, Provider: p}
	case llm.KindOverloaded:
		return ModelOverloaded{Model: m, Provider: p}
	case llm.KindServer:
		return ModelServerError{Model: m, Provider: p, Detail: detail(e)}
	case llm.KindTimeout:
		return ModelTimeout{Model: m, Provider: p}
	case llm.KindTransport:
		return ModelUnreachable{Model: m, Provider: p}
	case llm.KindIncomplete:
		return ModelIncomplete{Model: m, Provider: p}
	case llm.KindAuth:
		return ModelAuth{Model: m, Provider: p}
	case llm.KindQuota:
		return ModelQuota{Model: m, Provider: p}
	case llm.KindNotFound:
		return ModelNotFound{Model: m, Provider: p}
	case llm.KindBadRequest:
		return ModelBadRequest{Model: m, Provider: p, Detail: detail(e)}
	case llm.KindContextTooLarge:
		return ModelContextTooLarge{Model: m, Provider: p}
	case llm.KindContentFiltered:
		return ModelContentFiltered{Model: m, Provider: p}
	case llm.KindCanceled:
		return ModelCanceled{Model: m, Provider: p}
	default:
		return TurnFailed{Detail: detail(e)}
	}
}

// WhyModelFailed returns a kind of failure in a few words.
func WhyModelFailed(kind llm.Kind) Message {
	switch kind {
	case llm.KindRateLimited:
		return WhyRateLimited{}
	case llm.KindOverloaded:
		return WhyOverloaded{}
	case llm.KindServer:
		return WhyServerError{}
	case llm.KindTimeout:
		return WhyTimeout{}
	case llm.KindTransport:
		return WhyUnreachable{}
	case llm.KindIncomplete:
		return WhyIncomplete{}
	case llm.KindAuth:
		return WhyAuth{}
	case llm.KindQuota:
		return WhyQuota{}
	case llm.KindNotFound:
		return WhyNotFound{}
	case llm.KindBadRequest:
		return WhyBadRequest{}
	case llm.KindContextTooLarge:
		return WhyContextTooLarge{}
	case llm.KindContentFiltered:
		return WhyContentFiltered{}
	case llm.KindCanceled:
		return WhyCanceled{}
	default:
		return WhyUnknown{}
	}
}

// detail returns what the provider said, or at least its status.
func detail(e *llm.Error) string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Status != 0:
		return "HTTP " + strconv.Itoa(e.Status)
	default:
		return string(e.Kind)
	}
}
