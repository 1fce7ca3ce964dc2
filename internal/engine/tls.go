package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
)

const internalName = "picobot-engine"

// internalTLS closes the ports between the server's services. They carry the
// same power as the front door and Temporal has no key for them, so they ask
// for a certificate that exists only in this process's memory.
type internalTLS struct {
	server *tls.Config
	client *tls.Config
}

var _ encryption.TLSConfigProvider = (*internalTLS)(nil)

func newInternalTLS() (*internalTLS, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the engine's internal key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: internalName},
		DNSNames:     []string{internalName},
		// It dies with the process; a wrong clock must not make it invalid.
		NotBefore:             time.Unix(0, 0),
		NotAfter:              time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the engine's internal certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the engine's internal certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	cert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return &internalTLS{
		server: &tls.Config{
			MinVersion:   tls.VersionTLS13,
			Certificates: []tls.Certificate{cert},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    pool,
		},
		client: &tls.Config{
			MinVersion:   tls.VersionTLS13,
			Certificates: []tls.Certificate{cert},
			RootCAs:      pool,
			ServerName:   internalName,
		},
	}, nil
}

// GetInternodeServerConfig is what the internal ports ask for.
func (t *internalTLS) GetInternodeServerConfig() (*tls.Config, error) { return t.server.Clone(), nil }

// GetInternodeClientConfig is what the services show each other.
func (t *internalTLS) GetInternodeClientConfig() (*tls.Config, error) { return t.client.Clone(), nil }

// GetFrontendServerConfig leaves the front door plain: it is guarded by the key.
func (t *internalTLS) GetFrontendServerConfig() (*tls.Config, error) { return nil, nil }

// GetFrontendClientConfig goes with GetFrontendServerConfig.
func (t *internalTLS) GetFrontendClientConfig() (*tls.Config, error) { return nil, nil }

// GetRemoteClusterClientConfig is not used: there is one cluster.
func (t *internalTLS) GetRemoteClusterClientConfig(string) (*tls.Config, error) { return nil, nil }

// GetExpiringCerts reports none.
func (t *internalTLS) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
