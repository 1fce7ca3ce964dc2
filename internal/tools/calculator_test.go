package tools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools"
)

func TestCalculatorAnswersAndExplains(t *testing.T) {
	require.Equal(t, "84", requireOK(t, call(t, tools.Calculator(), args{"expression": "12*7"})))
	require.Equal(t, "0.3", requireOK(t, call(t, tools.Calculator(), args{"expression": "0.1+0.2"})))
	requireError(t, call(t, tools.Calculator(), args{"expression": "1/0"}), "division by zero")
	requireError(t, call(t, tools.Calculator(), args{"expression": ""}), "empty")
	requireError(t, call(t, tools.Calculator(), args{"expression": "readFile('/etc/passwd')"}), "unknown function")
}
