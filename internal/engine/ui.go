package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	uiassets "github.com/temporalio/ui-server/v2/ui"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

const (
	uiReadTimeout = 10 * time.Second
	uiIdleTimeout = 2 * time.Minute
	uiMaxHeader   = 64 << 10
	uiMaxBody     = "8M"
)

// uiServer is Temporal's web UI. It is put together here from the parts of
// their server, because that one opens its port itself and ends the process
// when it cannot.
type uiServer struct {
	ln   net.Listener
	opts Options
	http *http.Server
}

func newUIServer(ln net.Listener, o Options) *uiServer {
	return &uiServer{ln: ln, opts: o}
}

// serve answers from now on. conn carries the key.
func (u *uiServer) serve(temporalAddr string, conn *grpc.ClientConn) error {
	handler, err := u.handler(temporalAddr, conn)
	if err != nil {
		return fmt.Errorf("start the temporal ui: %w", err)
	}
	u.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: uiReadTimeout,
		IdleTimeout:       uiIdleTimeout,
		MaxHeaderBytes:    uiMaxHeader,
		ErrorLog:          slog.NewLogLogger(u.opts.Logger.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := u.http.Serve(u.ln); !errors.Is(err, http.ErrServerClosed) {
			u.opts.Logger.Error("temporal ui ended", "error", err)
		}
	}()
	return nil
}

// close ends requests that are under way too: nothing that a person sees in the
// UI is lost by it.
func (u *uiServer) close() error {
	if u.http == nil {
		return u.ln.Close()
	}
	return u.http.Close()
}

func (u *uiServer) url() string {
	addr := u.ln.Addr().(*net.TCPAddr)
	return "http://" + hostPort(dialHost(addr.IP.String()), addr.Port)
}

func (u *uiServer) loginURL() string {
	if u.opts.APIKey == "" {
		return u.url()
	}
	return u.url() + "/?" + url.Values{keyParam: {u.opts.APIKey}}.Encode()
}

func (u *uiServer) handler(temporalAddr string, conn *grpc.ClientConn) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(fixedConfig{&uiconfig.Config{
		TemporalGRPCAddress: temporalAddr,
		EnableUI:            true,
		DefaultNamespace:    u.opts.Namespace,
		// The UI needs no network beyond this machine.
		DisableNewsFetch:   true,
		NotifyOnNewVersion: false,
		HideLogs:           true,
		CORS:               uiconfig.CORS{CookieInsecure: true}, // plain HTTP on loopback
	}})
	if err != nil {
		return nil, err
	}
	all, err := uiassets.Assets()
	if err != nil {
		return nil, err
	}
	assets, err := fs.Sub(all, "local")
	if err != nil {
		return nil, err
	}

	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(slog.NewLogLogger(u.opts.Logger.Handler(), slog.LevelWarn).Writer())
	e.StdLogger = slog.NewLogLogger(u.opts.Logger.Handler(), slog.LevelWarn)
	guard := newUIGuard(u.ln.Addr().(*net.TCPAddr), u.opts.APIKey)
	e.Use(
		middleware.Recover(),
		guard.sameSite,
		guard.login,
		middleware.Gzip(),
		middleware.Secure(),
		middleware.BodyLimit(uiMaxBody),
		csrf.EnsureTokenCookie(false),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)),
		guard.needKey,
	)
	route.SetHealthRoute(e)
	addAPI(e, provider, conn)
	if err := route.SetUIRoutes(e, "", assets, provider); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "/")
	return e, nil
}

// addAPI does what route.SetAPIRoutes does, on a connection of ours.
func addAPI(e *echo.Echo, provider *uiconfig.ConfigProviderWithRefresh, conn *grpc.ClientConn) {
	forward := []api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}
	v1 := e.Group("/api/v1")
	v1.GET("/settings", api.GetSettings(provider))
	v1.GET("/releases", api.GetLatestReleases(provider, api.NewReleaseChecker()))
	v1.GET("/ui-extensions", api.GetUIExtensions(provider, api.TemporalAccessCheck(conn, forward)))
	v1.GET(api.WorkflowRawHistoryUrl, api.WorkflowRawHistoryHandler(workflowservice.NewWorkflowServiceClient(conn)))
	v1.Match([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		"/*", api.TemporalAPIHandler(provider, forward, conn))
}

// fixedConfig is a configuration that never changes.
type fixedConfig struct{ cfg *uiconfig.Config }

func (f fixedConfig) GetConfig() (*uiconfig.Config, error) { return f.cfg, nil }
