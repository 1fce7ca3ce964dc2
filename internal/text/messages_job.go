package text

// How runs of jobs ended.
type (
	// JobOverlapped is why a slot was skipped.
	JobOverlapped struct{ msg }
	// JobLate is why a slot was missed.
	JobLate struct {
		msg
		Late string
	}
	// JobOvertaken is why a slot was missed.
	JobOvertaken struct{ msg }
	// JobTooManyLate is why a slot was missed.
	JobTooManyLate struct {
		msg
		Number int
	}
	// JobSlotsUnlisted follows the reason of the first of very many slots.
	JobSlotsUnlisted struct {
		msg
		Why string
	}
	// JobNeverEnds is why a run failed.
	JobNeverEnds struct {
		msg
		Times int
	}
	// JobStopped is why a run failed.
	JobStopped struct{ msg }
	// JobTookTooLong is why a run failed.
	JobTookTooLong struct {
		msg
		Limit string
	}
	// JobUnderWay is why a run of PicoBot's own was skipped.
	JobUnderWay struct{ msg }
	// NotDelivered is why a run whose message did not arrive failed.
	NotDelivered struct {
		msg
		Detail string
	}
	// NotDeliveredYet is why a run whose message is still to be sent failed.
	NotDeliveredYet struct {
		msg
		Detail string
	}
)
