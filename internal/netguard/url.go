package netguard

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxURL   = 8192 // bytes; servers take no longer ones
	maxHost  = 253  // bytes of a name (RFC 1035)
	maxShown = 80
)

// CheckURL reads a URL that a model wrote. An error is a *Refusal that says what is
// wrong with it. That the URL passes says nothing of where its name leads.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, refuse("the URL is empty: name a page such as https://example.com/")
	case len(raw) > maxURL:
		return nil, refuse("the URL is too long (%d bytes, at most %d)", len(raw), maxURL)
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, forbidden):
		// A backslash is a slash for some readers of URLs and not for others.
		return nil, refuse("the URL has white space, a backslash or control characters in it: write them as %%20 and the like")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("this is no URL: write it like https://example.com/page?key=value")
	}
	switch {
	case u.Scheme == "":
		return nil, refuse("the URL has no scheme: begin it with https:// or http://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("%s URLs are not fetched, only http and https", shown(u.Scheme))
	case u.Opaque != "" || u.Hostname() == "":
		return nil, refuse("the URL names no host: write it like https://example.com/page")
	case u.User != nil:
		return nil, refuse("the URL has a user name in front of its host: leave it out")
	}
	if err := checkPort(u.Port(), strings.HasSuffix(u.Host, ":")); err != nil {
		return nil, err
	}
	return u, g.checkHost(u.Hostname())
}

func forbidden(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }

func checkPort(port string, empty bool) error {
	if port == "" && !empty {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return refuse("the URL's port is no number from 1 to 65535")
	}
	if badPort(uint16(n)) {
		return refuse("port %d belongs to a service that does not speak HTTP", n)
	}
	return nil
}

// checkHost refuses addresses that are written out, in whatever form. Names pass:
// where they lead is decided when they are dialled.
func (g *Guard) checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.checkAddr(shown(host), a)
	}
	// Full-width and circled digits become plain ones on the way.
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || ascii == "" || len(ascii) > maxHost {
		// Names of inner networks may break the rules for registered ones.
		ascii = strings.ToLower(host)
		if len(ascii) > maxHost || strings.ContainsFunc(ascii, notHost) {
			return refuse("%s is no name of a host", shown(host))
		}
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if a, err := netip.ParseAddr(ascii); err == nil {
		return g.checkAddr(shown(host), a)
	}
	if endsInNumber(ascii) {
		// 127.1, 0x7f.1, 2130706433, 0177.0.0.1: some resolvers take them for addresses.
		return refuse("%s is no name and no address: write an IPv4 address as four decimal numbers", shown(host))
	}
	return nil
}

func notHost(r rune) bool {
	return r > unicode.MaxASCII || (!unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._", r))
}

// endsInNumber is how browsers tell what must be an IPv4 address
// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true // a name does not end in two dots, or consist of one
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// shown repeats what a model wrote, short and on one line.
func shown(s string) string {
	if runes := []rune(s); len(runes) > maxShown {
		s = string(runes[:maxShown-1]) + "…"
	}
	return strconv.Quote(s)
}
