package text

// What operator commands print for people. Texts that name columns or fields have "|"
// between them. Words of the record (states, kinds, ids) are shown as the record has them.
type (
	// TableJobs heads a list of jobs.
	TableJobs struct{ msg }
	// TableJobRuns heads a list of a job's runs.
	TableJobRuns struct{ msg }
	// TableMemories heads a list of memories.
	TableMemories struct{ msg }
	// TableSessions heads a list of sessions; the last column marks active ones.
	TableSessions struct{ msg }
	// TableSkills heads a list of skills.
	TableSkills struct{ msg }
	// TableTurns heads a list of turns.
	TableTurns struct{ msg }
	// TableSessionTurns heads a session's turns.
	TableSessionTurns struct{ msg }
	// TableModelCalls heads the calls of models in a turn.
	TableModelCalls struct{ msg }
	// TableToolRuns heads the calls of tools in a turn.
	TableToolRuns struct{ msg }
	// FieldsTurn names what is told of a turn.
	FieldsTurn struct{ msg }
	// FieldsSession names what is told of a session.
	FieldsSession struct{ msg }
	// FieldsSkill names what is told of a skill.
	FieldsSkill struct{ msg }
)

// Jobs, as commands tell of them.
type (
	// SpecDelay is a schedule of one run after a while.
	SpecDelay struct {
		msg
		After string
	}
	// SpecInterval is a schedule of runs at an interval.
	SpecInterval struct {
		msg
		Every string
	}
	// SpecAt is a schedule of one run at a time.
	SpecAt struct {
		msg
		Time string
	}
	// Weekdays names the days of the week, from Sunday.
	Weekdays struct{ msg }
	// RunIsDue is a run that is about to begin.
	RunIsDue struct{ msg }
	// InSeconds is how far off something is.
	InSeconds struct {
		msg
		Number int
	}
	// InMinutes is how far off something is.
	InMinutes struct {
		msg
		Number int
	}
	// InHours is how far off something is.
	InHours struct {
		msg
		Number int
	}
	// InDays is how far off something is.
	InDays struct {
		msg
		Number int
	}
	// JobMade says that a job is new.
	JobMade struct {
		msg
		Job, Next string
	}
	// JobChanged says that a job was changed.
	JobChanged struct {
		msg
		Job, Next string
	}
	// JobDeleted says that a job is gone.
	JobDeleted struct {
		msg
		Job string
	}
	// JobState says how a job is now.
	JobState struct {
		msg
		Job, State, Next string
	}
	// JobRunAsked says that a run was asked for.
	JobRunAsked struct {
		msg
		Run, Job string
	}
	// NewestRunAt says where the newest run can be looked at.
	NewestRunAt struct {
		msg
		URL string
	}
)

// Sessions and turns, as commands tell of them.
type (
	// SessionActive marks a chat's active dialog.
	SessionActive struct{ msg }
	// SessionMessages counts what was said.
	SessionMessages struct {
		msg
		People, All int
	}
	// TurnIs says how a turn is now.
	TurnIs struct {
		msg
		Turn, State string
	}
	// TurnStopping is the state of a turn that is about to be stopped.
	TurnStopping struct{ msg }
	// TurnFailedBecause says why a turn failed.
	TurnFailedBecause struct {
		msg
		Code, Detail string
	}
	// NoModelAsked is said of a turn in which no model was asked.
	NoModelAsked struct{ msg }
	// RequestHeading stands above what a model was sent.
	RequestHeading struct {
		msg
		Step, Attempt, TokensIn, TokensOut, MS int
		Model, Provider, Status                string
	}
	// RowsUnknown is said of a request whose rows were not recorded.
	RowsUnknown struct{ msg }
	// RequestRow stands above a row that a model was sent.
	RequestRow struct {
		msg
		Seq  int
		Kind string
	}
	// SentAsStub marks a row of which a request only named the file.
	SentAsStub struct{ msg }
	// RowCalls names a call in a row.
	RowCalls struct {
		msg
		Tool, Arguments string
	}
)

// Memories and skills, as commands tell of them.
type (
	// NothingToTidy is said when no memories have changed.
	NothingToTidy struct{ msg }
	// Tidied tells what memory maintenance did.
	Tidied struct {
		msg
		Scopes, Changed, Merged, Deleted, Conflicts int
	}
	// WaitingForWorker is said while nobody has taken a run of memory maintenance.
	WaitingForWorker struct{ msg }
	// NoSkills is said where there are no skills.
	NoSkills struct{ msg }
	// NoSkillsToCheck is said where there is nothing to check.
	NoSkillsToCheck struct{ msg }
	// SkillSkipped warns of a folder that is no skill.
	SkillSkipped struct {
		msg
		Path, Detail string
	}
	// SkillScope tells where a skill is from and who may change it.
	SkillScope struct {
		msg
		Source, Scope string
	}
)

// Backups.
type (
	// BackupWritten tells what a backup holds; Size is with its unit.
	BackupWritten struct {
		msg
		File, Size                string
		Sessions, Messages, Files int
	}
	// BackupNote stands before what is worth knowing about a backup.
	BackupNote struct {
		msg
		Note string
	}
	// BackupConfigBroken says that a home's configuration is not usable.
	BackupConfigBroken struct{ msg }
	// BackupConfigOutside says that the configuration is not in the backup.
	BackupConfigOutside struct {
		msg
		File string
	}
	// Restored tells what a home holds now; When is a time.
	Restored struct {
		msg
		Home, When                string
		Sessions, Messages, Files int
	}
	// RestoredWaiting counts messages that will be answered.
	RestoredWaiting struct {
		msg
		Messages int
	}
	// RestoredKept says where the home of before is.
	RestoredKept struct {
		msg
		Dir string
	}
)

// What a start tells besides addresses.
type (
	// UIPassword says how to get into Temporal's web UI.
	UIPassword struct {
		msg
		File string
	}
	// TemporalOpen warns of a Temporal that asks for no key.
	TemporalOpen struct{ msg }
	// TakingOver says that a gateway takes the home from one inside an agent.
	TakingOver struct {
		msg
		PID int
	}
	// JobIsWrong warns of a job of the configuration.
	JobIsWrong struct {
		msg
		Detail string
	}
	// TemporalAway says that answers have to wait.
	TemporalAway struct{ msg }
)
