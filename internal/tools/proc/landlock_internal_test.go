//go:build linux

package proc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSupport_EachABI_SaysWhatIsMissing(t *testing.T) {
	for abi, want := range map[int]struct {
		confines bool
		gaps     int
	}{1: {false, 0}, 2: {false, 0}, 3: {true, 2}, 5: {true, 2}, 6: {true, 1}, 8: {true, 1}, 9: {true, 0}, 11: {true, 0}} {
		s := support(abi)
		require.Equal(t, want.confines, s.Reason == "", abi)
		require.Len(t, s.Gaps, want.gaps, abi)
		require.Equal(t, abi, s.ABI)
	}
}

func TestHandled_EachABI_HasItsRights(t *testing.T) {
	for abi, bits := range map[int]int{1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 8: 16, 9: 17} {
		require.Equal(t, uint64(1)<<bits-1, handled(abi), abi)
	}
}
