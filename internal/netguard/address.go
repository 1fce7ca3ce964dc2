package netguard

import "net/netip"

// Class says what kind of place an address is.
type Class string

// The classes. Only Public may be dialled by everybody.
const (
	Public      Class = "public"
	Loopback    Class = "loopback"
	Private     Class = "private"     // also unique local and shared (carrier) addresses
	LinkLocal   Class = "link-local"  // also how a machine without an address talks to its cloud
	Metadata    Class = "metadata"    // where clouds hand out credentials
	Multicast   Class = "multicast"   // one to many: no web server
	Unspecified Class = "unspecified" // "this host": most systems connect to themselves
	Reserved    Class = "reserved"    // documentation, benchmarks, broadcast, future use
	Translated  Class = "translated"  // an IPv4 address in disguise, which a relay would unwrap
	Invalid     Class = "no valid"
)

type span struct {
	prefix netip.Prefix
	class  Class
}

// spans are searched from the top: what is narrower comes first. The ranges are
// those of IANA's special-purpose address registries (RFC 6890 and its successors).
func spans() []span {
	list := []struct {
		class    Class
		prefixes []string
	}{
		// AWS, GCP, Azure, OpenStack and others share 169.254.169.254. The rest lie in
		// ranges that are open (Azure's 168.63.129.16) or that an operator may open.
		{Metadata, []string{"169.254.169.254/32", "169.254.170.2/32", "168.63.129.16/32", "100.100.100.200/32",
			"192.0.0.192/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128"}},
		{Unspecified, []string{"0.0.0.0/8", "::/128"}},
		{Loopback, []string{"127.0.0.0/8", "::1/128"}},
		{Private, []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"}},
		{LinkLocal, []string{"169.254.0.0/16", "fe80::/10", "fec0::/10"}},
		{Multicast, []string{"224.0.0.0/4", "ff00::/8"}},
		{Translated, []string{"192.88.99.0/24", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"}},
		{Reserved, []string{"192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
			"2001::/23", "2001:db8::/32", "3fff::/20"}},
		{Public, []string{"0.0.0.0/0", "2000::/3"}},
		{Reserved, []string{"::/0"}}, // IPv6 has given out nothing else yet
	}
	var all []span
	for _, l := range list {
		for _, p := range l.prefixes {
			all = append(all, span{netip.MustParsePrefix(p), l.class})
		}
	}
	return all
}

// nat64 is the prefix by which networks without IPv4 reach it (RFC 6052): what
// counts is the address inside, as for IPv4-mapped ones.
func nat64() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") }

// table classifies addresses.
type table struct {
	spans []span
	nat64 netip.Prefix
}

func newTable() table { return table{spans: spans(), nat64: nat64()} }

// class is never Public for an address that leads, mapped or translated, to one
// that is not.
func (t table) class(a netip.Addr) Class {
	if !a.IsValid() {
		return Invalid
	}
	if a.Zone() != "" {
		return LinkLocal // only such addresses need the name of an interface
	}
	a = a.Unmap()
	if t.nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range t.spans {
		if s.prefix.Contains(a) {
			return s.class
		}
	}
	return Invalid
}
