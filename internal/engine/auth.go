package engine

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"google.golang.org/grpc/credentials"
)

// sameKey compares in constant time, whatever the lengths.
func sameKey(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// keyClaims lets in whoever presents the key, as administrator.
type keyClaims struct{ key string }

var _ authorization.ClaimMapper = keyClaims{}

// GetClaims returns no claims, rather than an error, for a wrong key: the server
// logs each error, and anyone could fill the log that way.
func (k keyClaims) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	token, ok := strings.CutPrefix(info.AuthToken, "Bearer ")
	if !ok || !sameKey(token, k.key) {
		return nil, nil
	}
	return &authorization.Claims{Subject: "picobot", System: authorization.RoleAdmin}, nil
}

// claimMapper returns the mapper for the front door.
func claimMapper(key string) authorization.ClaimMapper {
	if key == "" {
		return authorization.NewNoopClaimMapper()
	}
	return keyClaims{key: key}
}

// bearer presents the key on each call of our own connections.
type bearer struct{ key string }

var _ credentials.PerRPCCredentials = bearer{}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b.key == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + b.key}, nil
}

// RequireTransportSecurity is false because these connections never leave the
// process's own machine.
func (b bearer) RequireTransportSecurity() bool { return false }

// claimMapperOption is claimMapper in the form that the server wants.
func claimMapperOption(key string) func(*config.Config) authorization.ClaimMapper {
	return func(*config.Config) authorization.ClaimMapper { return claimMapper(key) }
}
