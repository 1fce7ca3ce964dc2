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
