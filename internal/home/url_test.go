package home

import "testing"

func TestURL_AllAddresses_AreReachedOnLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:80":        "http://127.0.0.1:80",
		":80":               "http://127.0.0.1:80",
		"[::]:80":           "http://127.0.0.1:80",
		"[::1]:80":          "http://[::1]:80",
		"127.0.0.1:80":      "http://127.0.0.1:80",
		"picobot.local:80":  "http://picobot.local:80",
		"127.0.0.1:0":       "",
		"not an address at": "",
	} {
		if got := URL(addr); got != want {
			t.Errorf("%s: got %q, want %q", addr, got, want)
		}
	}
}
