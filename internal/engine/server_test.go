package engine

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestServer asks everything that can be asked of one running server.
func TestServer(t *testing.T) {
	s := start(t, testOptions(t, t.TempDir()))
	c := connect(t, s)
	runWorker(t, c)

	t.Run("is fresh and works", func(t *testing.T) {
		if fresh, why := s.Fresh(); !fresh || why == "" {
			t.Errorf("got %v, %q", fresh, why)
		}
		if s.BuildChanged() || len(s.Notices()) != 0 || s.Err() != nil {
			t.Errorf("got %v, %v, %v", s.BuildChanged(), s.Notices(), s.Err())
		}
		select {
		case <-s.Failed():
			t.Error("it says that it failed")
		default:
		}
	})

	t.Run("runs workflows", func(t *testing.T) {
		const n = 20
		took := make([]time.Duration, n)
		for i := range n {
			began := time.Now()
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: testQueue}, turnWorkflow, "hi")
			if err != nil {
				t.Fatal(err)
			}
			var out string
			if err := run.Get(t.Context(), &out); err != nil || out != "hi" {
				t.Fatalf("got %q, %v", out, err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		t.Logf("a workflow of three activities took %v at the median, %v at most", took[n/2], took[n-1])
	})

	t.Run("finds workflows by search attribute", func(t *testing.T) {
		for name, kind := range DefaultSearchAttributes() {
			if kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
				t.Fatalf("%s is no keyword", name)
			}
			_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: "by-" + name, TaskQueue: testQueue,
				TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(name).ValueSet("cli:a:b")),
			}, turnWorkflow, "hi")
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, name+" finds its workflow", func() bool {
				found, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: name + ` = "cli:a:b"`})
				if err != nil {
					t.Fatal(err)
				}
				return len(found.GetExecutions()) == 1 && found.GetExecutions()[0].GetExecution().GetWorkflowId() == "by-"+name
			})
		}
	})

	t.Run("fires schedules", func(t *testing.T) {
		h, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
			ID:                 "job/test",
			Spec:               client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}},
			Action:             &client.ScheduleWorkflowAction{ID: "job/test", Workflow: turnWorkflow, Args: []any{"hi"}, TaskQueue: testQueue},
			TriggerImmediately: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the schedule starts its workflow", func() bool {
			d, err := h.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return d.Info.NumActions == 1
		})
	})

	t.Run("keeps the retention of the config", func(t *testing.T) {
		if got := retentionOf(t, c); got != 7*24*time.Hour {
			t.Errorf("got %v", got)
		}
	})

	t.Run("uses the pragmas that it was given", func(t *testing.T) {
		for _, cfg := range []*config.SQL{s.prepared.db.main, s.prepared.db.visibility} {
			db := serverConnection(t, cfg)
			for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "1", "busy_timeout": "5000"} {
				var got string
				if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
					t.Errorf("%s of %s is %q, %v", pragma, cfg.DatabaseName, got, err)
				}
			}
			if n := db.Stats().MaxOpenConnections; n != 1 {
				t.Errorf("%s has up to %d connections", cfg.DatabaseName, n)
			}
		}
	})

	t.Run("keeps visibility out of the main file", func(t *testing.T) {
		for path, empty := range map[string]string{s.files.main(): "executions_visibility", s.files.visibility(): "executions"} {
			db, err := openOwn(path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+empty).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s has %d rows in %s, %v", path, n, empty, err)
			}
		}
	})

	t.Run("asks for the key", func(t *testing.T) {
		for name, creds := range map[string]client.Credentials{
			"none":  nil,
			"wrong": client.NewAPIKeyStaticCredentials("wrong"),
		} {
			o := clientOptions(s.Address(), s.Namespace())
			o.Credentials = creds
			bad, err := client.DialContext(t.Context(), o)
			if err != nil {
				t.Fatal(err) // connecting is free
			}
			defer bad.Close()
			_, err = bad.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
			var denied *serviceerror.PermissionDenied
			if !errors.As(err, &denied) {
				t.Errorf("with key %s: %v", name, err)
			}
		}
	})

	t.Run("opens its internal ports to nobody", func(t *testing.T) {
		for service, number := range s.running.ports.internal {
			for name, creds := range map[string]credentials.TransportCredentials{
				"plain":                 insecure.NewCredentials(),
				"TLS with no certicate": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
			} {
				conn, err := grpc.NewClient(hostPort(loopback, number), grpc.WithTransportCredentials(creds))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err == nil {
					t.Errorf("%s answers %v (%s)", service, r, name)
				}
			}
		}
	})

	t.Run("refuses a second engine on its files", func(t *testing.T) {
		if _, err := Start(t.Context(), testOptions(t, s.opts.Dir)); err == nil {
			t.Error("it started")
		}
	})

	t.Run("has a web UI", func(t *testing.T) { testUI(t, s) })

	t.Run("stops twice", func(t *testing.T) {
		stop(t, s)
		stop(t, s)
		if s.Err() != nil {
			t.Error(s.Err())
		}
	})
}

func retentionOf(t *testing.T, c client.Client) time.Duration {
	t.Helper()
	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
}

// serverConnection is the very connection pool that the server uses.
func serverConnection(t *testing.T, cfg *config.SQL) *sql.DB {
	t.Helper()
	db, err := temporalsql.NewSQLDB(sqlplugin.DbKindMain, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	pool := (*sqlx.DB)(reflect.ValueOf(db).Elem().FieldByName("db").UnsafePointer())
	return pool.DB
}

func TestFatalFaultEndsTheGoroutineAndIsKept(t *testing.T) {
	state := &logState{fail: newFailure()}
	out := &lines{}
	l := serverLog{out: slog.New(slog.NewTextHandler(out, nil)), state: state}
	ended := make(chan struct{})
	returned := false
	go func() {
		defer close(ended)
		l.Fatal("cannot go on", errorTag("disk is gone"))
		returned = true
	}()
	<-ended
	<-state.fail.done
	if returned {
		t.Error("it returned")
	}
	if err := state.fail.get(); err == nil || err.Error() != "temporal server: cannot go on: disk is gone" {
		t.Errorf("got %v", err)
	}
}
