package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	readyPoll = 10 * time.Millisecond
	readyCall = 2 * time.Second
	// maxMessage leaves room for long histories in the web UI.
	maxMessage = 64 << 20
)

// dial connects to the front door with the key.
func dial(addr, key string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer{key: key}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine: %w", err)
	}
	return conn, nil
}

// waitReady returns once the server says that it serves and the namespace can
// be used.
func waitReady(ctx context.Context, conn *grpc.ClientConn, namespace string, fail *failure) error {
	for {
		err := probe(ctx, conn, namespace)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(readyPoll):
		case <-fail.done:
			return fmt.Errorf("start the engine: %w", fail.get())
		case <-ctx.Done():
			return fmt.Errorf("the engine did not get ready in time (%w): %w", ctx.Err(), err)
		}
	}
}

func probe(ctx context.Context, conn *grpc.ClientConn, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, readyCall)
	defer cancel()
	health, err := healthpb.NewHealthClient(conn).Check(ctx,
		&healthpb.HealthCheckRequest{Service: workflowservice.WorkflowService_ServiceDesc.ServiceName},
		grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("ask for its health: %w", err)
	}
	if health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return errors.New("it does not serve yet")
	}
	api := workflowservice.NewWorkflowServiceClient(conn)
	if _, err := api.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); err != nil {
		return fmt.Errorf("ask for namespace %s: %w", namespace, err)
	}
	// The namespace is described from the file; that it can be used shows only
	// in a call that goes through the caches.
	if _, err := api.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace}); err != nil {
		return fmt.Errorf("use namespace %s: %w", namespace, err)
	}
	return nil
}
