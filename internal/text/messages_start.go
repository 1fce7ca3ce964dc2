package text

// Lines that a person sees when PicoBot starts and stops.
type (
	// TemporalPortReplaced says that the default port of the embedded Temporal was taken.
	TemporalPortReplaced struct {
		msg
		Taken string
		Used  int
	}
	// UIPortReplaced says that the default port of its web UI was taken.
	UIPortReplaced struct {
		msg
		Taken string
		Used  int
	}
	// GatewayStartedInside is said by a client that found no gateway and started one.
	GatewayStartedInside struct {
		msg
		URL string
	}
	// GatewayLost is said by a client whose connection broke.
	GatewayLost struct{ msg }
)
