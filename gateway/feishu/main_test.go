package feishu

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}
