package netguard_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"picobot/internal/netguard"
)

func TestClass_SpecialAddresses_AreNeverPublic(t *testing.T) {
	g := netguard.New(netguard.Options{})
	for class, addresses := range map[netguard.Class][]string{
		netguard.Loopback: {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1"},
		netguard.Private: {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
			"fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "64:ff9b::192.168.1.1"},
		netguard.LinkLocal:   {"169.254.0.1", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "::ffff:169.254.1.1", "2606:4700::1%eth0"},
		netguard.Metadata:    {"169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"},
		netguard.Multicast:   {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
		netguard.Unspecified: {"0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"},
		netguard.Reserved: {"255.255.255.255", "240.0.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
			"2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "100::1", "5f00::1", "4000::1", "e000::1"},
		netguard.Translated: {"192.88.99.1", "::127.0.0.1", "::8.8.8.8", "2002:7f00:1::", "2002:808:808::", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
			"64:ff9b:1::7f00:1", "::ffff:0:127.0.0.1"},
		netguard.Public: {"8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "169.253.255.255",
			"192.167.1.1", "198.17.255.255", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"},
	} {
		for _, a := range addresses {
			require.Equal(t, class, g.Class(netip.MustParseAddr(a)), a)
			require.Equal(t, class == netguard.Public, g.Check(netip.MustParseAddr(a)) == nil, a)
		}
	}
	require.Equal(t, netguard.Invalid, g.Class(netip.Addr{}))
	require.Error(t, g.Check(netip.Addr{}))
}

func TestCheck_AllowPrivate_LiftsPrivateAndLoopbackOnly(t *testing.T) {
	g := netguard.New(netguard.Options{AllowPrivate: true})
	for _, a := range []string{"127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "fd12::1", "100.64.0.1", "8.8.8.8"} {
		require.NoError(t, g.Check(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "169.254.1.1", "fe80::1", "224.0.0.1", "0.0.0.0", "::", "255.255.255.255", "2002:7f00:1::"} {
		require.Error(t, g.Check(netip.MustParseAddr(a)), a)
	}
}

// In whatever form an IPv4 address is carried, what it is does not change, or it
// is refused.
func TestClass_EmbeddedIPv4_IsNeverBetterThanItself(t *testing.T) {
	g := netguard.New(netguard.Options{})
	rapid.Check(t, func(t *rapid.T) {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], rapid.Uint32().Draw(t, "v4"))
		plain := g.Class(netip.AddrFrom4(v4))
		for _, prefix := range []string{"::ffff:0:0", "::", "64:ff9b::", "64:ff9b:1::", "::ffff:0:0:0", "2001::", "fe80::5efe:0:0"} {
			b := netip.MustParseAddr(prefix).As16()
			copy(b[12:], v4[:])
			if c := g.Class(netip.AddrFrom16(b)); c == netguard.Public && plain != netguard.Public {
				t.Fatalf("%s is %s and %s in %s", netip.AddrFrom4(v4), plain, c, prefix)
			}
		}
		sixToFour := netip.MustParseAddr("2002::").As16()
		copy(sixToFour[2:], v4[:])
		if g.Class(netip.AddrFrom16(sixToFour)) == netguard.Public {
			t.Fatalf("6to4 of %s is public", netip.AddrFrom4(v4))
		}
	})
}

// The standard library's own predicates know a part of the ranges: none of what
// they know is public here.
func TestClass_AnyAddress_AgreesWithTheStandardLibrary(t *testing.T) {
	g := netguard.New(netguard.Options{})
	rapid.Check(t, func(t *rapid.T) {
		a, _ := netip.AddrFromSlice(rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 4, 4), rapid.SliceOfN(rapid.Byte(), 16, 16)).Draw(t, "address"))
		special := !a.Unmap().IsGlobalUnicast() || a.Unmap().IsPrivate()
		if special && g.Class(a) == netguard.Public {
			t.Fatalf("%s is public", a)
		}
	})
}

func FuzzClass(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "64:ff9b::1", "2002::1", ""} {
		f.Add(s)
	}
	g := netguard.New(netguard.Options{})
	open := netguard.New(netguard.Options{AllowPrivate: true})
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return
		}
		inner := a.WithZone("").Unmap()
		if g.Check(a) == nil && (inner.IsLoopback() || inner.IsPrivate() || inner.IsLinkLocalUnicast() || inner.IsMulticast() || inner.IsUnspecified()) {
			t.Fatalf("%s may be reached", s)
		}
		if g.Check(a) == nil && open.Check(a) != nil {
			t.Fatalf("%s may be reached only while private addresses may not", s)
		}
	})
}
