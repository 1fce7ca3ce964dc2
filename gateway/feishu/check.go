package feishu

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Finding is what Check says about one thing.
type Finding struct {
	What   string
	Level  Level
	Detail string // what is so
	Advice string // what to do, "" when it is well
}

// Level says how bad a finding is.
type Level int

// From well to bad.
const (
	Well Level = iota
	Warn
	Fail
)

// need is a scope that something wants; any one of them does.
type need struct {
	scopes []string
	for_   string
}

// needs are the scopes of docs/feishu.md.
var needs = []need{
	{[]string{"im:message:send_as_bot", "im:message"}, "to answer"},
	{[]string{"im:message.p2p_msg:readonly", "im:message.p2p_msg"}, "to hear what people write to the bot"},
	{[]string{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg", "im:message.group_msg:readonly"}, "to hear messages that mention it in groups"},
	{[]string{"im:message:readonly", "im:message"}, "to read quoted and forwarded messages"},
	{[]string{"im:message:update", "im:message"}, "to show how it gets on"},
	{[]string{"im:resource"}, "to read images and files"},
	{[]string{"im:message.reactions:write_only"}, "to mark messages that it works on"},
}

const receiveEvent = "im.message.receive_v1"

// Check asks Feishu whether the app is what the channel needs. It changes nothing.
func (a *App) Check(ctx context.Context) []Finding {
	_, err := a.api.tokens.get(ctx)
	if e, ok := errors.AsType[*Error](err); ok && e.Code != 0 && classOf(e) != unknown && classOf(e) != later {
		return []Finding{{"credentials", Fail, err.Error(), "set channels.feishu.app_id and app_secret to what the app's page shows under Credentials"}}
	}
	if err != nil {
		return []Finding{{"credentials", Fail, err.Error(), "check channels.feishu.domain and the network"}}
	}
	out := []Finding{{What: "credentials", Detail: "accepted"}}
	if id, err := a.botOpenID(ctx); err != nil {
		out = append(out, Finding{"bot", Fail, err.Error(), "add the bot ability to the app and publish a version"})
	} else {
		out = append(out, Finding{What: "bot", Detail: id})
	}
	return append(out, a.checkScopes(ctx), a.checkEvents(ctx), a.checkConnection(ctx))
}

func (a *App) checkScopes(ctx context.Context) Finding {
	var out struct {
		Data struct {
			Scopes []struct {
				Name    string `json:"scope_name"`
				Granted int    `json:"grant_status"` // 1 = granted
			} `json:"scopes"`
		} `json:"data"`
	}
	if err := a.api.call(ctx, http.MethodGet, "/open-apis/application/v6/scopes", nil, nil, &out); err != nil {
		return Finding{"scopes", Warn, "feishu does not say which are granted: " + err.Error(), "compare them with docs/feishu.md"}
	}
	var missing, why []string
	for _, n := range needs {
		if !slices.ContainsFunc(out.Data.Scopes, func(s struct {
			Name    string `json:"scope_name"`
			Granted int    `json:"grant_status"`
		}) bool {
			return s.Granted == 1 && slices.Contains(n.scopes, s.Name)
		}) {
			missing, why = append(missing, n.scopes[0]), append(why, n.scopes[0]+" "+n.for_)
		}
	}
	if len(missing) == 0 {
		return Finding{What: "scopes", Detail: "granted"}
	}
	return Finding{"scopes", Warn, "missing: " + strings.Join(why, ", "), "add " + strings.Join(missing, ", ") + " under Permissions and publish a version"}
}

func (a *App) checkEvents(ctx context.Context) Finding {
	var out struct {
		Data struct {
			Items []struct {
				Events []struct {
					Type string `json:"event_type"`
				} `json:"event_infos"`
			} `json:"items"`
		} `json:"data"`
	}
	err := a.api.call(ctx, http.MethodGet, "/open-apis/application/v6/applications/"+url.PathEscape(a.opts.AppID)+"/app_versions",
		url.Values{"lang": {"zh_cn"}, "order": {"1"}, "page_size": {"1"}}, nil, &out)
	if err != nil || len(out.Data.Items) == 0 {
		return Finding{What: "events", Detail: "not checked: the app may not read about its own versions"}
	}
	for _, e := range out.Data.Items[0].Events {
		if e.Type == receiveEvent {
			return Finding{What: "events", Detail: receiveEvent}
		}
	}
	return Finding{"events", Warn, receiveEvent + " is not in the app's newest version", "add it under Events, with the long connection as the way, and publish a version"}
}

// checkConnection asks for a long connection without making one.
func (a *App) checkConnection(ctx context.Context) Finding {
	f := Finding{What: "long connection", Detail: "offered"}
	body := marshal(object{"AppID": a.opts.AppID, "AppSecret": a.opts.AppSecret})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.api.base+"/callback/ws/endpoint", bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		var resp *http.Response
		if resp, err = a.api.http.Do(req); err == nil {
			defer resp.Body.Close() //nolint:errcheck // only read from
			var b []byte
			if b, err = io.ReadAll(resp.Body); err == nil {
				err = answer(resp.StatusCode, resp.Header, b, nil)
			}
		}
	}
	if err != nil {
		return Finding{"long connection", Fail, redact(bare(err).Error()), "choose the long connection as the way events come, and publish a version"}
	}
	return f
}
