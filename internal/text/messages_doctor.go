package text

// What doctor finds. Details of errors are not translated: they are what logs say, too.
type (
	// DoctorNoConfig says that there is no configuration file.
	DoctorNoConfig struct{ msg }
	// DoctorEditConfig is what to do about a warning of the configuration.
	DoctorEditConfig struct{ msg }
	// DoctorEditFile is what to do about a problem of the configuration.
	DoctorEditFile struct {
		msg
		File string
	}
	// DoctorUnreadableConfig is what to do about a configuration that cannot be read.
	DoctorUnreadableConfig struct{ msg }
	// DoctorCorrectConfig is what to do about models that cannot be made.
	DoctorCorrectConfig struct{ msg }
	// DoctorDeleteLock is what to do about a lock file that cannot be read.
	DoctorDeleteLock struct {
		msg
		File string
	}
	// DoctorStarting says that a gateway is not there yet.
	DoctorStarting struct {
		msg
		PID     int
		Command string
	}
	// DoctorAskAgain is what to do about what is on its way.
	DoctorAskAgain struct{ msg }
	// DoctorSilent says that a gateway is there and does not answer.
	DoctorSilent struct {
		msg
		PID                      int
		Command, Address, Detail string
	}
	// DoctorRestart is what to do about a gateway that does not answer.
	DoctorRestart struct {
		msg
		PID int
	}
	// DoctorWorkerIll says that a gateway's worker is not well.
	DoctorWorkerIll struct {
		msg
		PID            int
		Address, State string
	}
	// DoctorSeeLog is what to do about what only the gateway's log can explain.
	DoctorSeeLog struct{ msg }
	// DoctorRunning names the gateway that runs.
	DoctorRunning struct {
		msg
		PID              int
		Command, Address string
	}
	// DoctorNoGateway says that no gateway runs.
	DoctorNoGateway struct{ msg }
	// DoctorStartGateway is what to do where no gateway runs.
	DoctorStartGateway struct{ msg }
	// DoctorNoGatewayCan says that no gateway could be started.
	DoctorNoGatewayCan struct {
		msg
		Detail string
	}
	// DoctorAddressTaken is what to do about an address that another process has; Key names it in the configuration.
	DoctorAddressTaken struct {
		msg
		Key string
	}
	// DoctorAddressWrong is what to do about an address that cannot be listened on.
	DoctorAddressWrong struct{ msg }
	// DoctorGatewaySays passes on what the gateway says of a part of it.
	DoctorGatewaySays struct {
		msg
		State string
	}
	// DoctorDiskFull is what to do about a record that cannot be written.
	DoctorDiskFull struct{ msg }
	// DoctorNoStore says that there is no record yet.
	DoctorNoStore struct{ msg }
	// DoctorNewerBuild is what to do about a record of a newer build.
	DoctorNewerBuild struct{ msg }
	// DoctorRestore is what to do about a record that is broken.
	DoctorRestore struct{ msg }
	// DoctorDamaged says what is wrong with the record.
	DoctorDamaged struct {
		msg
		Detail string
	}
	// DoctorStore says what the record holds.
	DoctorStore struct {
		msg
		Schema, Sessions, Messages int
	}
	// DoctorExternalIll says why an external Temporal cannot be used.
	DoctorExternalIll struct {
		msg
		Namespace, Address, Detail string
	}
	// DoctorCorrectTemporal is what to do about an external Temporal.
	DoctorCorrectTemporal struct{ msg }
	// DoctorExternal names the external Temporal.
	DoctorExternal struct {
		msg
		Namespace, Address string
	}
	// DoctorEmbeddedRuns says where the embedded Temporal shows itself.
	DoctorEmbeddedRuns struct {
		msg
		URL string
	}
	// DoctorEmbedded says where the embedded Temporal keeps its files.
	DoctorEmbedded struct {
		msg
		Dir string
	}
	// DoctorModelOffline says what the built-in model is.
	DoctorModelOffline struct{ msg }
	// DoctorConfigureModel is what to do to have a real model.
	DoctorConfigureModel struct{ msg }
	// DoctorModel says what a model can do.
	DoctorModel struct {
		msg
		Model, Provider, Abilities string
		Window                     int
	}
	// DoctorProvider says that a provider which no model uses answers.
	DoctorProvider struct{ msg }
	// DoctorAuth is what to do where an API key is refused.
	DoctorAuth struct{ msg }
	// DoctorQuota is what to do where an account is empty.
	DoctorQuota struct{ msg }
	// DoctorModelUnknown is what to do where a model is unknown.
	DoctorModelUnknown struct{ msg }
	// DoctorUnreachable is what to do where an endpoint cannot be reached.
	DoctorUnreachable struct{ msg }
	// DoctorLater is what to do where an endpoint is busy.
	DoctorLater struct{ msg }
	// DoctorSeeEndpoint is what to do where only the endpoint knows.
	DoctorSeeEndpoint struct{ msg }
	// AbleTools is a model that can call tools.
	AbleTools struct{ msg }
	// AbleStreaming is a model that streams.
	AbleStreaming struct{ msg }
	// AbleVision is a model that sees images.
	AbleVision struct{ msg }
	// NotAble is what a model cannot do.
	NotAble struct {
		msg
		What string
	}
	// MaybeAble is what nobody knows of a model.
	MaybeAble struct {
		msg
		What string
	}
	// StreamingOff is a model that is not asked to stream.
	StreamingOff struct{ msg }
	// DoctorNeedsTools is what to do about a model that cannot call tools.
	DoctorNeedsTools struct{ msg }
	// DoctorNeedsNoVision is what to do about a model that is said to see and does not.
	DoctorNeedsNoVision struct{ msg }
	// DoctorOn is a channel that is on.
	DoctorOn struct{ msg }
	// DoctorOff is a channel that is off.
	DoctorOff struct{ msg }
	// DoctorConnecting is a channel that is not connected yet.
	DoctorConnecting struct{ msg }
	// DoctorDiskUnknown is what to do where the free room cannot be told.
	DoctorDiskUnknown struct {
		msg
		Dir string
	}
	// DoctorDiskLittle says how little room is left.
	DoctorDiskLittle struct {
		msg
		MB int
	}
	// DoctorMakeRoom is what to do about little room.
	DoctorMakeRoom struct{ msg }
	// DoctorDisk says how much room is left.
	DoctorDisk struct {
		msg
		GB int
	}
	// DoctorWorkspaceLater says that the workspace is not there yet.
	DoctorWorkspaceLater struct {
		msg
		Dir string
	}
	// DoctorWorkspaceWrong is what to do about a workspace that cannot be written.
	DoctorWorkspaceWrong struct{ msg }
	// DoctorConfined says how commands are confined.
	DoctorConfined struct{ msg }
	// DoctorConfinedButFor says how commands are confined, and what is left.
	DoctorConfinedButFor struct {
		msg
		Gaps string
	}
	// DoctorUnconfinedForAll says that nothing confines commands.
	DoctorUnconfinedForAll struct {
		msg
		Detail string
	}
	// DoctorForbidUnconfined is what to do about that.
	DoctorForbidUnconfined struct{ msg }
	// DoctorUnconfined says that commands run for the terminal only.
	DoctorUnconfined struct {
		msg
		Detail string
	}
	// DoctorAllowUnconfined is what to do about that.
	DoctorAllowUnconfined struct{ msg }
	// DoctorSkillsOff says that there are no skills.
	DoctorSkillsOff struct{ msg }
	// DoctorSkillSkipped says why a skill is none.
	DoctorSkillSkipped struct {
		msg
		Name, Detail string
	}
	// DoctorCorrectSkill is what to do about it.
	DoctorCorrectSkill struct {
		msg
		Path string
	}
	// DoctorMoreSkipped says how many skills more were skipped.
	DoctorMoreSkipped struct {
		msg
		Number int
	}
	// DoctorCheckSkills is what to do about them.
	DoctorCheckSkills struct{ msg }
	// DoctorSkills counts skills.
	DoctorSkills struct {
		msg
		Number, On int
	}
)

// What doctor finds of the Feishu app.
type (
	// FeishuAccepted says that the app's credentials are taken.
	FeishuAccepted struct{ msg }
	// FeishuCredentialsWrong is what to do about credentials that are refused.
	FeishuCredentialsWrong struct{ msg }
	// FeishuUnreachable is what to do where Feishu does not answer.
	FeishuUnreachable struct{ msg }
	// FeishuNoBot is what to do about an app without a bot.
	FeishuNoBot struct{ msg }
	// FeishuScopesUnknown says why scopes could not be checked.
	FeishuScopesUnknown struct {
		msg
		Detail string
	}
	// FeishuCompareScopes is what to do about that.
	FeishuCompareScopes struct{ msg }
	// FeishuGranted says that all scopes are granted.
	FeishuGranted struct{ msg }
	// FeishuScopesMissing lists scopes that are not granted, with what they are for.
	FeishuScopesMissing struct {
		msg
		Scopes string
	}
	// FeishuAddScopes is what to do about that.
	FeishuAddScopes struct {
		msg
		Scopes string
	}
	// FeishuToAnswer is what a scope is for.
	FeishuToAnswer struct{ msg }
	// FeishuToHear is what a scope is for.
	FeishuToHear struct{ msg }
	// FeishuToHearGroups is what a scope is for.
	FeishuToHearGroups struct{ msg }
	// FeishuToReadQuoted is what a scope is for.
	FeishuToReadQuoted struct{ msg }
	// FeishuToShow is what a scope is for.
	FeishuToShow struct{ msg }
	// FeishuToReadFiles is what a scope is for.
	FeishuToReadFiles struct{ msg }
	// FeishuToMark is what a scope is for.
	FeishuToMark struct{ msg }
	// FeishuEventsUnknown says why events could not be checked.
	FeishuEventsUnknown struct{ msg }
	// FeishuEventMissing names an event that the app does not get.
	FeishuEventMissing struct {
		msg
		Event string
	}
	// FeishuAddEvent is what to do about that.
	FeishuAddEvent struct{ msg }
	// FeishuOffered says that there is a long connection.
	FeishuOffered struct{ msg }
	// FeishuChooseConnection is what to do where there is none.
	FeishuChooseConnection struct{ msg }
)
