package home

import "net"

// URL is where a gateway that listens at addr (host:port) is reached from this machine;
// "" when that cannot be told. Of a gateway on all addresses it is the IPv4 loopback:
// one on [::] takes that too, and containers often have no ::1.
func URL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
