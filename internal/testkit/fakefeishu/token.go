package fakefeishu

import (
	"encoding/json"
	"net/http"
	"strings"
)

func (s *Server) token(w http.ResponseWriter, _ *http.Request, body []byte) {
	var in struct {
		AppID     string `json:"app_id"`
		AppSecret string `json:"app_secret"`
	}
	_ = json.Unmarshal(body, &in)
	switch {
	case in.AppID != s.config.AppID:
		s.fail(w, &apiError{code: 10003, msg: "invalid param"})
		return
	case in.AppSecret != AppSecret:
		s.fail(w, &apiError{code: 10014, msg: "app secret invalid"})
		return
	}
	s.mu.Lock()
	token := s.number("t-fake")
	s.tokens[token] = s.config.Now().Add(s.config.TokenTTL)
	s.mu.Unlock()
	s.write(w, http.StatusOK, nil, map[string]any{"code": 0, "msg": "ok", "tenant_access_token": token, "expire": int(s.config.TokenTTL.Seconds())})
}

func (s *Server) authorized(r *http.Request) *apiError {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return &apiError{code: 99991661, msg: "Missing access token for authorization."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end, known := s.tokens[token]
	if !known || s.config.Now().After(end) {
		return &apiError{code: 99991663, msg: "Invalid access token for authorization. Please make a request with token attached."}
	}
	return nil
}

// RevokeTokens makes every token given out so far invalid.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

func (s *Server) botInfo(*http.Request, []byte) (any, *apiError) {
	if s.config.NoBot {
		return nil, &apiError{code: 11205, msg: "app do not have bot"}
	}
	return map[string]any{"code": 0, "msg": "ok", "bot": map[string]any{"activate_status": 2, "app_name": "PicoBot", "open_id": BotOpenID}}, nil
}

func (s *Server) scopes(*http.Request, []byte) (any, *apiError) {
	list := []map[string]any{}
	for _, scope := range s.config.Scopes {
		list = append(list, map[string]any{"scope_name": scope, "grant_status": 1})
	}
	return ok(map[string]any{"scopes": list}), nil
}

func (s *Server) versions(*http.Request, []byte) (any, *apiError) {
	if s.config.NoAppInfo {
		return nil, &apiError{code: 99991672, msg: "Access denied. One of the following scopes is required: [application:application.app_version:readonly]"}
	}
	infos := []map[string]any{}
	for _, e := range s.config.Events {
		infos = append(infos, map[string]any{"event_type": e})
	}
	return ok(map[string]any{"items": []any{map[string]any{"app_id": s.config.AppID, "status": 1, "event_infos": infos}}, "has_more": false}), nil
}
