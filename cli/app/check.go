package app

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
)

// CheckTemporal reports why an external Temporal cannot be used, or nil.
func CheckTemporal(ctx context.Context, o Options) error {
	cfg := o.Config.Temporal
	opts := client.Options{HostPort: cfg.Address, Namespace: cfg.Namespace, Logger: temporallog.NewStructuredLogger(o.Log)}
	if err := external(cfg, &opts); err != nil {
		return err
	}
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: cfg.Namespace})
	if _, unknown := errors.AsType[*serviceerror.NamespaceNotFound](err); unknown {
		return fmt.Errorf("it has no namespace %q: make it, or set temporal.namespace", cfg.Namespace)
	}
	if err != nil {
		return fmt.Errorf("it refuses us: %w", err)
	}
	return nil
}
