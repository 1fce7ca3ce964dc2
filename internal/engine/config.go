package engine

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
)

const (
	clusterName  = "active"
	loopback     = "127.0.0.1"
	archivalOff  = "disabled"
	mainStore    = "main"
	visStore     = "visibility"
	joinDuration = 10 * time.Second
)

// services in the order in which ports are given to them.
func internalServices() []primitives.ServiceName {
	return []primitives.ServiceName{
		primitives.InternalFrontendService,
		primitives.HistoryService,
		primitives.MatchingService,
		primitives.WorkerService,
	}
}

func allServices() []string {
	names := []string{string(primitives.FrontendService)}
	for _, s := range internalServices() {
		names = append(names, string(s))
	}
	return names
}

// serverConfig is the static configuration: one shard, two SQLite files, no
// membership gossip, no metrics or profiling ports.
func serverConfig(p ports, db stores, clusterID string) *config.Config {
	cfg := &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: joinDuration, BroadcastAddress: loopback},
		},
		Persistence: config.Persistence{
			DefaultStore:     mainStore,
			VisibilityStore:  visStore,
			NumHistoryShards: 1, // for the life of the files
			DataStores: map[string]config.DataStore{
				mainStore: {SQL: db.main},
				// Its own file: visibility has some sixty indexes and its own
				// writer, and the two would wait for each other in one file.
				visStore: {SQL: db.visibility},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {
					Enabled:                true,
					InitialFailoverVersion: 1,
					ClusterID:              clusterID,
					RPCAddress:             p.dialFrontend(),
				},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: archivalOff},
			Visibility: config.VisibilityArchival{State: archivalOff},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: archivalOff},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: archivalOff},
			},
		},
		Services: map[string]config.Service{
			string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: p.frontend.port, BindOnIP: p.frontend.ip}},
		},
	}
	for name, number := range p.internal {
		// Not BindOnLocalHost: that asks the environment and the resolver what
		// the local host is.
		cfg.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: number, BindOnIP: loopback}}
	}
	return cfg
}

func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(p.dialFrontend()),
	}
	for name, number := range p.internal {
		hosts[name] = static.SingleLocalHost(hostPort(loopback, number))
	}
	return hosts
}

// stockSettings are those of temporalio/cli's development server.
func stockSettings() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 8096,
		dynamicconfig.EnableServerVersionCheck.Key():                     false,
	}
}

// dynamicSettings changes what the stock server does badly for one user on one
// machine.
func dynamicSettings(stock bool) dynamicconfig.StaticClient {
	if stock {
		return stockSettings()
	}
	const (
		// Stock: 20 a second for each shard. With one shard every hop of every
		// workflow waits up to 50 ms for its turn.
		pollsPerSecond = 1000
		// Stock: 10 a second, too few for the web UI and a sweep at once.
		visibilityCalls = 1000
		// Stock: 30 a second in a namespace. A hundred jobs at nine o'clock
		// would be late by seconds.
		scheduledStarts = 1000.0
	)
	return dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():                  pollsPerSecond,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():                     pollsPerSecond,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key():                pollsPerSecond,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():                  pollsPerSecond,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): visibilityCalls,
		dynamicconfig.SchedulerNamespaceStartWorkflowRPS.Key():           scheduledStarts,
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():           1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():          1,
		// Stock: 128 000 executions, sized for a cluster node.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8096,
		// Stock: 20 s. The wake-up of a long poll for a result can be lost, and
		// then this is how late the answer comes.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): 2 * time.Second,
		// It would call home.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}
