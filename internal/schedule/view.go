package schedule

// View is a job with how it is, as a model is told of it.
type View struct {
	Job
	State      string   `json:"state"` // active, paused or completed
	LastStatus string   `json:"last_status,omitempty"`
	NextRuns   []string `json:"next_runs"` // RFC 3339 in the job's zone
}

// Place is where and in whose name a job is made by an agent.
type Place struct {
	Target   Target // the chat the turn answers
	SenderID string
	InJob    bool // the turn is itself a run of a job
}
