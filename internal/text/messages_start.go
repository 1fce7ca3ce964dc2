package text

// Lines that a person sees when PicoBot starts and stops.
type (
	// GatewayListening names the address of the HTTP and WebSocket server.
	GatewayListening struct {
		msg
		URL string
	}
	// TemporalListening names the address of the embedded Temporal server.
	TemporalListening struct {
		msg
		Addr string
	}
	// TemporalUIListening names the address of Temporal's web UI.
	TemporalUIListening struct {
		msg
		URL string
	}
	// TemporalExternal names the Temporal server that is used.
	TemporalExternal struct {
		msg
		Addr, Namespace string
	}
	// PortReplaced says that a default address was taken and another is used.
	PortReplaced struct {
		msg
		What, Taken, Used string
	}
	// PortTaken says that a configured address is taken; Owner may be empty-handed
	// words such as "another program".
	PortTaken struct {
		msg
		What, Addr, Owner string
	}
	// GatewayStartedInside is said by a client that found no gateway and started one.
	GatewayStartedInside struct {
		msg
		URL string
	}
	// GatewayConnected is said by a client that found the gateway.
	GatewayConnected struct {
		msg
		URL string
	}
	// GatewayLost is said by a client whose connection broke.
	GatewayLost struct{ msg }
	// HomeInUse says that another gateway owns the home.
	HomeInUse struct {
		msg
		Home, Owner string
	}
	// Stopping is said when a signal asks PicoBot to stop.
	Stopping struct{ msg }
	// Stopped is the last line.
	Stopped struct{ msg }
)
