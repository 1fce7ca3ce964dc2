package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/store"
)

func TestSeqs_AreShortRangesAndComeBackAsTheyWere(t *testing.T) {
	require.Equal(t, "1-3,7,9-10", store.NewSeqs([]int64{9, 3, 2, 1, 7, 10, 2}).String())
	rapid.Check(t, func(t *rapid.T) {
		s := store.NewSeqs(rapid.SliceOf(rapid.Int64Range(1, 60)).Draw(t, "numbers"))
		back, err := store.ParseSeqs(s.String())
		require.NoError(t, err)
		require.ElementsMatch(t, s, back)
		for n := int64(0); n < 62; n++ {
			require.Equal(t, s.Has(n), back.Has(n))
		}
	})
}

func TestParseSeqs_Nonsense_IsAnError(t *testing.T) {
	for _, text := range []string{"x", "1-", "-1", "3-1", "1,1", "2,1", "1-9223372036854775806", "1,,2"} {
		_, err := store.ParseSeqs(text)
		require.Error(t, err, text)
	}
}
