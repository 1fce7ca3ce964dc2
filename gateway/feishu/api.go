package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	lark "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"picobot/internal/brief"
)

// BaseURL returns the address of a configured domain: "feishu", "lark" or a URL.
func BaseURL(domain string) string {
	switch domain {
	case "", "feishu":
		return lark.FeishuBaseUrl
	case "lark":
		return lark.LarkBaseUrl
	}
	return strings.TrimRight(domain, "/")
}

const (
	requestTimeout = 15 * time.Second
	maxAnswer      = 8 << 20 // bytes of one answer, files excepted
	maxMsg         = 300     // characters of Feishu's words in an error
)

// api calls Feishu. Each call is one request (and one more when a token was refused),
// so that who calls decides about the next: the SDK's own token cache is shared by the
// whole process and repeats a refused request with the same token.
type api struct {
	base   string
	sdk    *lark.Client
	http   *http.Client
	tokens *tokens
}

func newAPI(o Options) *api {
	a := &api{base: BaseURL(o.Domain), http: &http.Client{Timeout: requestTimeout, Transport: bounded{http.DefaultTransport}}}
	a.sdk = lark.NewClient(o.AppID, o.AppSecret,
		lark.WithOpenBaseUrl(a.base),
		lark.WithHttpClient(a.http),
		lark.WithEnableTokenCache(false),
		lark.WithLogger(sdkLogger{o.Logger}),
		lark.WithLogLevel(larkcore.LogLevelWarn))
	a.tokens = newTokens(o.Now, func(ctx context.Context) (string, time.Duration, error) {
		return a.login(ctx, o.AppID, o.AppSecret)
	})
	return a
}

// bounded keeps answers from filling the memory: the SDK reads them whole.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// login gets a tenant access token.
func (a *api) login(ctx context.Context, id, secret string) (token string, ttl time.Duration, err error) {
	var out struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"` // s
	}
	err = a.do(ctx, &larkcore.ApiReq{HttpMethod: http.MethodPost, ApiPath: "/open-apis/auth/v3/tenant_access_token/internal",
		Body: map[string]string{"app_id": id, "app_secret": secret}}, &out)
	if err == nil && out.Token == "" {
		err = errors.New("feishu gave no token")
	}
	return out.Token, time.Duration(out.Expire) * time.Second, err
}

// call makes one request. out, if not nil, gets the whole answer.
func (a *api) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	for try := 0; ; try++ {
		token, err := a.tokens.get(ctx)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && classOf(e) != unknown {
				return err
			}
			return notAsked(err)
		}
		err = a.do(ctx, &larkcore.ApiReq{HttpMethod: method, ApiPath: path, QueryParams: larkcore.QueryParams(query), Body: body,
			SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}}, out, larkcore.WithTenantAccessToken(token))
		if classOf(err) != stale || err == nil || try > 0 {
			return err
		}
		a.tokens.drop(token)
	}
}

func (a *api) do(ctx context.Context, req *larkcore.ApiReq, out any, options ...larkcore.RequestOptionFunc) error {
	resp, err := a.sdk.Do(ctx, req, options...)
	var dial *larkcore.DialFailedError
	switch {
	case errors.As(err, &dial):
		return notAsked(err)
	case err != nil:
		return fmt.Errorf("ask feishu: %w", bare(err))
	}
	return answer(resp.StatusCode, resp.Header, resp.RawBody, out)
}

// bare takes the address out of an error of HTTP.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// answer reads what Feishu answered.
func answer(status int, header http.Header, body []byte, out any) error {
	var head struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
	}
	if json.Unmarshal(body, &head) == nil && status < 300 && head.Code == 0 {
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(body, out); err != nil {
			return fmt.Errorf("feishu's answer cannot be read: %w", err)
		}
		return nil
	}
	e := &Error{Status: status, Code: head.Code, Msg: brief.Cut(head.Msg, maxMsg), LogID: header.Get("X-Tt-Logid")}
	if s, err := strconv.Atoi(header.Get("X-Ogw-Ratelimit-Reset")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// download reads a file that came with a message, at most max bytes of it.
func (a *api) download(ctx context.Context, messageID, key, kind string, most int64) (data []byte, name string, err error) {
	for try := 0; ; try++ {
		token, err := a.tokens.get(ctx)
		if err != nil {
			return nil, "", err
		}
		data, name, err = a.downloadOnce(ctx, token, messageID, key, kind, most)
		if err == nil || classOf(err) != stale || try > 0 {
			return data, name, err
		}
		a.tokens.drop(token)
	}
}

var errTooLarge = errors.New("it is too large")

func (a *api) downloadOnce(ctx context.Context, token, messageID, key, kind string, most int64) ([]byte, string, error) {
	address := a.base + "/open-apis/im/v1/messages/" + url.PathEscape(messageID) + "/resources/" + url.PathEscape(key) + "?type=" + kind
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := (&http.Client{Timeout: downloadTimeout}).Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("ask feishu: %w", bare(err))
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err != nil {
			return nil, "", fmt.Errorf("ask feishu: %w", err)
		}
		return nil, "", answer(resp.StatusCode, resp.Header, body, nil)
	}
	disposition := resp.Header.Get("Content-Disposition")
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" && disposition == "" {
		return nil, "", answer(resp.StatusCode, resp.Header, nil, nil) // a page, not a file: those come as attachments
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("ask feishu: %w", err)
	case int64(len(data)) > most:
		return nil, "", errTooLarge
	case len(data) == 0:
		return nil, "", errors.New("it is empty")
	}
	return data, fileName(disposition), nil
}

const downloadTimeout = 90 * time.Second

// sdkLogger passes on what the SDK says, without what nobody may read.
type sdkLogger struct{ log *slog.Logger }

func (l sdkLogger) say(ctx context.Context, level slog.Level, args []any) {
	if l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, redact(string(bytes.TrimSpace(fmt.Appendln(nil, args...)))), "from", "sdk")
	}
}

// Debug implements larkcore.Logger: the SDK shows contents there.
func (l sdkLogger) Debug(context.Context, ...any) {}

// Info implements larkcore.Logger.
func (l sdkLogger) Info(ctx context.Context, args ...any) { l.say(ctx, slog.LevelDebug, args) }

// Warn implements larkcore.Logger: what there is to warn of, this package says itself.
func (l sdkLogger) Warn(ctx context.Context, args ...any) { l.say(ctx, slog.LevelDebug, args) }

// Error implements larkcore.Logger.
func (l sdkLogger) Error(ctx context.Context, args ...any) { l.say(ctx, slog.LevelWarn, args) }
