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

	"picobot/internal/text"
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
	for_   text.Message
}

// needs are the scopes of docs/feishu.md.
var needs = []need{
	{[]string{"im:message:send_as_bot", "im:message"}, text.FeishuToAnswer{}},
	{[]string{"im:message.p2p_msg:readonly", "im:message.p2p_msg"}, text.FeishuToHear{}},
	{[]string{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg", "im:message.group_msg:readonly"}, text.FeishuToHearGroups{}},
	{[]string{"im:message:readonly", "im:message"}, text.FeishuToReadQuoted{}},
	{[]string{"im:message:update", "im:message"}, text.FeishuToShow{}},
	{[]string{"im:resource"}, text.FeishuToReadFiles{}},
	{[]string{"im:message.reactions:write_only"}, text.FeishuToMark{}},
}

const receiveEvent = "im.message.receive_v1"

// Check asks Feishu whether the app is what the channel needs, and says so in the
// language of Options.Texts. It changes nothing.
func (a *App) Check(ctx context.Context) []Finding {
	_, err := a.api.tokens.get(ctx)
	if e, ok := errors.AsType[*Error](err); ok && e.Code != 0 && classOf(e) != unknown && classOf(e) != later {
		return []Finding{{"credentials", Fail, err.Error(), a.say(text.FeishuCredentialsWrong{})}}
	}
	if err != nil {
		return []Finding{{"credentials", Fail, err.Error(), a.say(text.FeishuUnreachable{})}}
	}
	out := []Finding{{What: "credentials", Detail: a.say(text.FeishuAccepted{})}}
	if id, err := a.botOpenID(ctx); err != nil {
		out = append(out, Finding{"bot", Fail, err.Error(), a.say(text.FeishuNoBot{})})
	} else {
		out = append(out, Finding{What: "bot", Detail: id})
	}
	return append(out, a.checkScopes(ctx), a.checkEvents(ctx), a.checkConnection(ctx))
}

func (a *App) say(m text.Message) string { return a.opts.Texts.Say(m) }

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
		return Finding{"scopes", Warn, a.say(text.FeishuScopesUnknown{Detail: err.Error()}), a.say(text.FeishuCompareScopes{})}
	}
	var missing, why []string
	for _, n := range needs {
		if !slices.ContainsFunc(out.Data.Scopes, func(s struct {
			Name    string `json:"scope_name"`
			Granted int    `json:"grant_status"`
		}) bool {
			return s.Granted == 1 && slices.Contains(n.scopes, s.Name)
		}) {
			missing, why = append(missing, n.scopes[0]), append(why, n.scopes[0]+" "+a.say(n.for_))
		}
	}
	if len(missing) == 0 {
		return Finding{What: "scopes", Detail: a.say(text.FeishuGranted{})}
	}
	return Finding{"scopes", Warn, a.say(text.FeishuScopesMissing{Scopes: strings.Join(why, ", ")}), a.say(text.FeishuAddScopes{Scopes: strings.Join(missing, ", ")})}
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
		return Finding{What: "events", Detail: a.say(text.FeishuEventsUnknown{})}
	}
	for _, e := range out.Data.Items[0].Events {
		if e.Type == receiveEvent {
			return Finding{What: "events", Detail: receiveEvent}
		}
	}
	return Finding{"events", Warn, a.say(text.FeishuEventMissing{Event: receiveEvent}), a.say(text.FeishuAddEvent{})}
}

// checkConnection asks for a long connection without making one.
func (a *App) checkConnection(ctx context.Context) Finding {
	f := Finding{What: "long connection", Detail: a.say(text.FeishuOffered{})}
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
		return Finding{"long connection", Fail, redact(bare(err).Error()), a.say(text.FeishuChooseConnection{})}
	}
	return f
}
