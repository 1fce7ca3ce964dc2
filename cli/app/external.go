package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"picobot/internal/config"
	"picobot/internal/flow"
)

// external says how an external Temporal is connected to.
func external(cfg config.Temporal, opts *client.Options) error {
	if key := cfg.APIKey.Reveal(); key != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	if !cfg.TLS.Enabled {
		opts.ConnectionOptions.TLSDisabled = true
		return nil
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.TLS.ServerName}
	if cfg.TLS.CAFile != "" {
		pem, err := os.ReadFile(cfg.TLS.CAFile)
		if err != nil {
			return fmt.Errorf("temporal.tls.ca_file: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(pem) {
			return errors.New("temporal.tls.ca_file: there is no certificate in this file")
		}
	}
	if cfg.TLS.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(cfg.TLS.CertFile, cfg.TLS.KeyFile)
		if err != nil {
			return fmt.Errorf("temporal.tls.cert_file: %w", err)
		}
		secure.Certificates = []tls.Certificate{cert}
	}
	opts.ConnectionOptions.TLS = secure
	return nil
}

const (
	attributesRetry   = 2 * time.Second
	attributesTimeout = 10 * time.Second
)

// registerAttributes sees to it that an external Temporal knows PicoBot's search
// attributes, without which it refuses every run. It tries until Temporal is there.
func (t *temporal) registerAttributes(o Options) part {
	return func(ctx context.Context) error {
		for t.engine == nil {
			err := t.addAttributes(ctx, o.Config.Temporal.Namespace)
			var denied *serviceerror.PermissionDenied
			var gone *serviceerror.Unimplemented
			switch {
			case err == nil:
				return nil
			case ctx.Err() != nil:
				return nil
			case errors.As(err, &denied) || errors.As(err, &gone):
				o.Log.Warn("cannot make sure that temporal has PicoBot's search attributes: have its operator add them", "error", err)
				return nil
			}
			select {
			case <-time.After(attributesRetry):
			case <-ctx.Done():
			}
		}
		return nil
	}
}

func (t *temporal) addAttributes(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, attributesTimeout)
	defer cancel()
	api := t.client.OperatorService()
	have, err := api.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, a := range []string{flow.AttributeSession.GetName(), flow.AttributeChannel.GetName(), flow.AttributeJob.GetName()} {
		if _, ok := have.GetCustomAttributes()[a]; !ok {
			missing[a] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = api.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	var exists *serviceerror.AlreadyExists
	if errors.As(err, &exists) {
		return nil // another process was quicker
	}
	return err
}
