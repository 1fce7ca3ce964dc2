package netguard_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/netguard"
)

func TestCheckURL_OrdinaryURLs_Pass(t *testing.T) {
	g := netguard.New(netguard.Options{})
	for _, raw := range []string{
		"https://example.com", "http://example.com/", "HTTPS://EXAMPLE.com/a?b=c&d=%20#e", "https://example.com:8443/", "https://example.com./",
		"https://例子.测试/路径", "https://xn--fsqu00a.xn--0zwm56d/", "https://8.8.8.8/", "https://[2606:4700:4700::1111]/", "https://a-b.c_d.example/",
		"http://localhost:3000/", // where a name leads is decided when it is dialled
		"https://1.example.com/", "https://example.com/\u00fc?q=飞书", "https://0x7f.example/", "https://[::ffff:8.8.8.8]/",
	} {
		u, err := g.CheckURL(raw)
		require.NoError(t, err, raw)
		require.NotEmpty(t, u.Hostname(), raw)
	}
}

func TestCheckURL_HostileURLs_AreRefusedWithASentence(t *testing.T) {
	g := netguard.New(netguard.Options{})
	for name, c := range map[string]struct{ raw, says string }{
		"empty":                  {"", "is empty"},
		"too long":               {"https://example.com/" + strings.Repeat("a", 9000), "too long"},
		"file":                   {"file:///etc/passwd", "only http and https"},
		"gopher":                 {"gopher://127.0.0.1:6379/_FLUSHALL", "only http and https"},
		"ftp":                    {"ftp://example.com/", "only http and https"},
		"javascript":             {"javascript:alert(1)", "only http and https"},
		"data":                   {"data:text/html,hello", "only http and https"},
		"unix socket":            {"unix:///var/run/docker.sock", "only http and https"},
		"no scheme":              {"example.com/page", "no scheme"},
		"scheme relative":        {"//example.com/", "no scheme"},
		"no host":                {"http:///page", "no host"},
		"opaque":                 {"http:example.com", "no host"},
		"port without host":      {"http://:80/", "no host"},
		"user name":              {"http://example.com@127.0.0.1/", "user name"},
		"user name and password": {"https://user:pass@example.com/", "user name"},
		"space":                  {"https://exa mple.com/", "white space"},
		"line feed":              {"http://example.com/\r\nHost: evil", "control"},
		"tab in the host":        {"http://127\t.0.0.1/", "white space"},
		"NUL":                    {"http://example.com/\x00", "control"},
		"backslash":              {`http://example.com\@127.0.0.1/`, "backslash"},
		"broken UTF-8":           {"http://example.com/\xff", "control"},
		"loopback":               {"http://127.0.0.1/", "loopback"},
		"loopback, other":        {"http://127.9.9.9:8080/", "loopback"},
		"loopback v6":            {"http://[::1]/", "loopback"},
		"loopback, long v6":      {"http://[0:0:0:0:0:0:0:1]:80/", "loopback"},
		"mapped loopback":        {"http://[::ffff:127.0.0.1]/", "loopback"},
		"mapped loopback, hex":   {"http://[::ffff:7f00:1]/", "loopback"},
		"loopback with a dot":    {"http://127.0.0.1./", "loopback"},
		"full-width digits":      {"http://１２７.０.０.１/", "loopback"},
		"circled digits":         {"http://①②⑦.⓪.⓪.①/", "loopback"},
		"ideographic dots":       {"http://127。0。0。1/", "loopback"},
		"escaped digits":         {"http://%31%32%37.0.0.1/", ""},
		"decimal":                {"http://2130706433/", "four decimal numbers"},
		"hexadecimal":            {"http://0x7f000001/", "four decimal numbers"},
		"octal":                  {"http://017700000001/", "four decimal numbers"},
		"octal parts":            {"http://0177.0.0.1/", "four decimal numbers"},
		"hexadecimal parts":      {"http://0x7f.0.0.0x1/", "four decimal numbers"},
		"short":                  {"http://127.1/", "four decimal numbers"},
		"zero":                   {"http://0/", "four decimal numbers"},
		"overflow":               {"http://127.0.0.257/", "four decimal numbers"},
		"five parts":             {"http://127.0.0.1.1/", "four decimal numbers"},
		"only dots":              {"http://../", ""},
		"private 10":             {"http://10.1.2.3/", "private"},
		"private 172":            {"http://172.20.0.1/", "private"},
		"private 192":            {"http://192.168.0.1/admin", "private"},
		"carrier":                {"http://100.64.1.1/", "private"},
		"unique local":           {"http://[fd12::1]/", "private"},
		"link-local":             {"http://169.254.1.1/", "link-local"},
		"link-local v6":          {"http://[fe80::1%25eth0]/", "link-local"},
		"metadata":               {"http://169.254.169.254/latest/meta-data/", "credentials"},
		"metadata v6":            {"http://[fd00:ec2::254]/latest/meta-data/", "credentials"},
		"metadata, mapped":       {"http://[::ffff:a9fe:a9fe]/", "credentials"},
		"metadata, NAT64":        {"http://[64:ff9b::a9fe:a9fe]/", "credentials"},
		"metadata, Alibaba":      {"http://100.100.100.200/", "credentials"},
		"6to4":                   {"http://[2002:7f00:1::]/", "translated"},
		"Teredo":                 {"http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "translated"},
		"v4-compatible":          {"http://[::127.0.0.1]/", "translated"},
		"unspecified":            {"http://0.0.0.0:8080/", "unspecified"},
		"unspecified v6":         {"http://[::]/", "unspecified"},
		"multicast":              {"http://224.0.0.1/", "multicast"},
		"broadcast":              {"http://255.255.255.255/", "reserved"},
		"benchmark":              {"http://198.18.0.1/", "reserved"},
		"documentation":          {"http://192.0.2.1/", "reserved"},
		"port of SMTP":           {"http://example.com:25/", "port 25"},
		"port of SSH":            {"http://example.com:22/", "port 22"},
		"port of Redis":          {"http://example.com:6379/", "port 6379"},
		"port zero":              {"http://example.com:0/", "1 to 65535"},
		"port too large":         {"http://example.com:65536/", "1 to 65535"},
		"port negative":          {"http://example.com:-1/", ""},
		"port empty":             {"http://example.com:/", "1 to 65535"},
		"port of letters":        {"http://example.com:http/", ""},
		"host of punctuation":    {"http://exa$mple!/", "no name of a host"},
		"host too long":          {"http://" + strings.Repeat("a.", 150) + "com/", "no name of a host"},
	} {
		_, err := g.CheckURL(c.raw)
		require.Error(t, err, name)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, err, netguard.Reason(err), name)
		require.Less(t, len(err.Error()), 400, name)
	}
}

func TestReason_OtherErrors_AreNoRefusal(t *testing.T) {
	require.NoError(t, netguard.Reason(errors.New("no luck")))
	require.NoError(t, netguard.Reason(nil))
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://example.com/", "http://127.0.0.1", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "http://①②⑦.⓪.⓪.①/", "http://a@b/", "\x00", "http://[fe80::1%25a]/"} {
		f.Add(s)
	}
	g := netguard.New(netguard.Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.CheckURL(raw)
		if err != nil {
			if netguard.Reason(err) == nil {
				t.Fatalf("%q is refused without a reason: %v", raw, err)
			}
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q passes as %s", raw, u)
		}
		if a, err := netip.ParseAddr(strings.TrimSuffix(u.Hostname(), ".")); err == nil && g.Check(a) != nil {
			t.Fatalf("%q passes and leads to %s", raw, a)
		}
		// What passes is read the same way the second time.
		if _, err := g.CheckURL(u.String()); err != nil && len(u.String()) <= 8192 {
			t.Fatalf("%q passes, %q does not: %v", raw, u, err)
		}
	})
}
