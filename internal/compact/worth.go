package compact

// Corrected is an estimate of tokens, corrected by how far the last one was off: what
// the provider reported of that request, divided by what had been estimated. 0 =
// unknown. A provider that reports less than half is not believed: no tokenizer makes
// so few tokens of a text, and a window that overflows costs more than a summary.
func Corrected(estimate int, lastEstimate, lastReported int64) int {
	if lastEstimate <= 0 || lastReported <= 0 {
		return estimate
	}
	return int(float64(estimate) * max(minRatio, float64(lastReported)/float64(lastEstimate)))
}

const minRatio = 0.5

// Large reports whether a segment of so many tokens is to be compacted: above the
// threshold, a share of the model's window.
func Large(tokens int, threshold float64, window int) bool {
	return window > 0 && float64(tokens) > threshold*float64(window)
}

// minGain is the share of a segment that a compaction must save.
const minGain = 0.2

// Worth reports whether a segment gains enough by becoming smaller.
func Worth(before, after int) bool {
	return before > 0 && float64(before-after) >= minGain*float64(before)
}

// maxStrikes fruitless tries in a row stop compaction until the segment has grown by growth.
const (
	maxStrikes = 3
	growth     = 1.5
)

// Resting reports whether compaction is stopped: it was fruitless too often, and the
// segment has not grown by half since the last of these tries.
func Resting(strikes int, sizeThen int64, now int) bool {
	return strikes >= maxStrikes && float64(now) < growth*float64(sizeThen)
}
