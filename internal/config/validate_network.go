package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

func (v validator) gateway() {
	g := v.cfg.Gateway
	if v.addr("gateway.addr", g.Addr) && !loopback(g.Addr) && g.Token == "" {
		v.problems.check("gateway.token", "set a token: gateway.addr %s can be reached from other machines", quote(g.Addr))
	}
	if strings.ContainsFunc(g.Token.Reveal(), notInHeader) {
		v.problems.check("gateway.token", "must be printable ASCII without spaces")
	}
	for i, o := range g.AllowedOrigins {
		if !validOrigin(o) {
			v.problems.check(fmt.Sprintf("gateway.allowed_origins[%d]", i),
				"must be one origin, scheme://host or scheme://host:port, such as https://chat.example.com")
		}
	}
	v.between("gateway.agent_prompt_reinject_every", g.AgentPromptReinjectEvery, 0, 1_000_000)
	v.between("gateway.max_message_bytes", g.MaxMessageBytes, 1, 1<<30)
}

func (v validator) temporal() {
	t := v.cfg.Temporal
	v.oneOf("temporal.mode", t.Mode, TemporalEmbedded, TemporalExternal)
	v.listener("temporal.address", t.Address)
	v.listener("temporal.ui_addr", t.UIAddr)
	v.name("temporal.namespace", t.Namespace)
	v.name("temporal.task_queue", t.TaskQueue)
	v.between("temporal.retention_days", t.RetentionDays, 1, 36_500)
	if strings.ContainsFunc(t.APIKey.Reveal(), notInHeader) {
		v.problems.check("temporal.api_key", "must be printable ASCII without spaces")
	}
	switch {
	case t.TLS.CertFile != "" && t.TLS.KeyFile == "":
		v.problems.check("temporal.tls.key_file", "name the key that belongs to cert_file")
	case t.TLS.KeyFile != "" && t.TLS.CertFile == "":
		v.problems.check("temporal.tls.cert_file", "name the certificate that belongs to key_file")
	}
}

// listener checks an address of Temporal: the embedded server knows no users, so it
// must not be reachable from elsewhere.
func (v validator) listener(path, addr string) {
	if path == "temporal.ui_addr" && v.cfg.Temporal.Mode == TemporalExternal && validURL(addr) {
		return
	}
	if !v.addr(path, addr) {
		return
	}
	_, port, _ := net.SplitHostPort(addr)
	switch embedded := v.cfg.Temporal.Mode == TemporalEmbedded; {
	case embedded && !loopback(addr):
		v.problems.check(path, "the embedded server has no login: listen on loopback, such as 127.0.0.1:%s", port)
	case !embedded && path == "temporal.address" && port == "0":
		v.problems.check(path, "name the port of the external server")
	case !embedded && path == "temporal.address" && strings.HasPrefix(addr, ":"):
		v.problems.check(path, "name the host of the external server")
	}
}

func (v validator) feishu() {
	f := v.cfg.Channels.Feishu
	if f.Domain != DomainFeishu && f.Domain != DomainLark && !validURL(f.Domain) {
		v.problems.check("channels.feishu.domain", `must be "feishu", "lark" or an http or https address without query`)
	}
	if _, exists := v.cfg.Agents[f.Agent]; !exists && !v.problems.isSpoiled("agents") {
		v.problems.check("channels.feishu.agent", "there is no agent %s; %s", quote(f.Agent), suggest(f.Agent, sortedKeys(v.cfg.Agents)))
	}
	for i, id := range f.AllowFrom {
		if strings.TrimSpace(id) != id || id == "" {
			v.problems.check(fmt.Sprintf("channels.feishu.allow_from[%d]", i), `must be the id of a person without spaces, or "*" for everyone`)
		}
	}
	if f.Enabled && f.AppID == "" {
		v.problems.check("channels.feishu.app_id", "set the id of the app, or channels.feishu.enabled to false")
	}
	if f.Enabled && f.AppSecret == "" {
		v.problems.check("channels.feishu.app_secret", "set the secret of the app, or channels.feishu.enabled to false")
	}
}

func (v validator) addr(path, addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err == nil && portErr == nil && strconv.FormatUint(n, 10) == port && validHost(host) {
		return true
	}
	v.problems.check(path, "must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:19876, not %s", quote(addr))
	return false
}

// validHost reports whether host is empty (every interface), an IP address or a name
// that DNS could know.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); host == "" || err == nil {
		return true
	}
	return len(host) <= 253 && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r))
	})
}

// loopback reports whether only this machine can reach addr. Names other than
// localhost may point anywhere.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return strings.EqualFold(host, "localhost")
	}
	return ip.Unmap().IsLoopback()
}

func validURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && !strings.ContainsFunc(s, notInHeader)
}

func validOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && validHost(u.Hostname()) &&
		strings.EqualFold(u.Scheme+"://"+u.Host, s)
}
