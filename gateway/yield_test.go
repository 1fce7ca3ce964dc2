package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestYield_OnlyAGatewayThatMayGo_DoesWhenItIsAsked(t *testing.T) {
	newRig(t).refused(http.StatusConflict, "conflict", http.MethodPost, "/api/v1/yield", nil)
	asked := make(chan struct{}, 1)
	r := newRig(t, func(_ *Options, d *Deps) { d.Yield = func() { asked <- struct{}{} } })
	r.refused(http.StatusUnauthorized, "unauthorized", http.MethodPost, "/api/v1/yield", func(req *http.Request) { req.Header.Del("Authorization") })
	require.Empty(t, asked)
	status, body, _ := r.do(http.MethodPost, "/api/v1/yield", nil)
	require.Equal(t, http.StatusAccepted, status, body)
	<-asked
}
