package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

const (
	keyParam  = "key"
	keyCookie = "picobot_temporal_ui"
	apiPrefix = "/api/"
)

// uiGuard decides who may use the web UI. A web page that somebody visits can
// send requests to loopback, by a name of its own or under its own origin; a
// program that runs here can do so without a browser.
type uiGuard struct {
	bound net.IP
	key   string
}

func newUIGuard(addr *net.TCPAddr, key string) uiGuard {
	return uiGuard{bound: addr.IP, key: key}
}

// sameSite refuses requests made under a foreign name or from a foreign page.
func (g uiGuard) sameSite(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !g.ownHost(r.Host) {
			return echo.NewHTTPError(http.StatusForbidden, "this is not a name of the temporal ui: use its address")
		}
		if origin := r.Header.Get(echo.HeaderOrigin); origin != "" {
			u, err := url.Parse(origin)
			if err != nil || !strings.EqualFold(u.Host, r.Host) {
				return echo.NewHTTPError(http.StatusForbidden, "other pages may not use the temporal ui")
			}
		}
		return next(c)
	}
}

// ownHost accepts addresses and localhost. Any address will do: a page under a
// foreign name cannot make a browser send one.
func (g uiGuard) ownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// login turns the key of a login link into a cookie.
func (g uiGuard) login(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		query := u.Query()
		if g.key == "" || c.Request().Method != http.MethodGet || !sameKey(query.Get(keyParam), g.key) {
			return next(c)
		}
		c.SetCookie(&http.Cookie{
			Name:     keyCookie,
			Value:    g.cookie(),
			Path:     "/",
			HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		})
		query.Del(keyParam)
		// Only the path: a link must not be able to lead elsewhere.
		to := url.URL{Path: "/" + strings.TrimLeft(u.Path, "/"), RawQuery: query.Encode()}
		return c.Redirect(http.StatusSeeOther, to.String())
	}
}

// needKey guards everything that reaches Temporal. The pages themselves hold
// nothing and are free, so that a browser gets to the point of being asked.
func (g uiGuard) needKey(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !strings.HasPrefix(c.Path(), apiPrefix) {
			return next(c)
		}
		r := c.Request()
		if g.key != "" && !g.mayCall(r) {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Basic realm="PicoBot's Temporal (the password is in temporal.key of its home)"`)
			return echo.NewHTTPError(http.StatusUnauthorized, "open the temporal ui with its login link, or send the key as bearer token or as password")
		}
		// Our connection presents the key itself; a second one beside it would
		// be refused.
		r.Header.Del(echo.HeaderAuthorization)
		return next(c)
	}
}

func (g uiGuard) mayCall(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get(echo.HeaderAuthorization), "Bearer "); ok {
		return sameKey(token, g.key)
	}
	if _, password, ok := r.BasicAuth(); ok {
		return sameKey(password, g.key)
	}
	cookie, err := r.Cookie(keyCookie)
	return err == nil && sameKey(cookie.Value, g.cookie())
}

// cookie stands for the key without being it.
func (g uiGuard) cookie() string {
	sum := sha256.Sum256([]byte("temporal ui " + g.key))
	return hex.EncodeToString(sum[:])
}
