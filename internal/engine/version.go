package engine

import (
	uiversion "github.com/temporalio/ui-server/v2/server/version"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/server/common/headers"
)

// VersionSet names the versions of Temporal that are built in.
type VersionSet struct {
	Server string
	UI     string
	SDK    string
}

// Versions returns the versions of Temporal that are built in.
func Versions() VersionSet {
	return VersionSet{
		Server: headers.ServerVersion,
		UI:     uiversion.UIVersion,
		SDK:    temporal.SDKVersion,
	}
}
