package port

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestListenOnAFreePort(t *testing.T) {
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenOnATakenPortNamesTheOwner(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		taken, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Logf("no %s here: %v", host, err)
			continue
		}
		defer taken.Close()
		addr := taken.Addr().String()

		_, err = Listen(t.Context(), addr)
		var te *TakenError
		if !errors.As(err, &te) || te.Addr != addr || !strings.Contains(err.Error(), addr) {
			t.Fatalf("got %v", err)
		}
		if runtime.GOOS == "linux" {
			if te.Owner.PID != os.Getpid() || !strings.Contains(err.Error(), te.Owner.Name) {
				t.Errorf("got %v, this is process %d", err, os.Getpid())
			}
		}
	}
}

func TestListenWhereNobodyCan(t *testing.T) {
	_, err := Listen(t.Context(), "127.0.0.1:99999")
	var te *TakenError
	if err == nil || errors.As(err, &te) {
		t.Errorf("got %v", err)
	}
}

func TestOwnerOfNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := ln.Addr().String()
	_ = ln.Close()
	for _, addr := range []string{free, "", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:http"} {
		if p, ok := Owner(addr); ok {
			t.Errorf("%q is owned by %+v", addr, p)
		}
	}
}

func TestUnknownOwnerIsSaidSo(t *testing.T) {
	err := &TakenError{Addr: "127.0.0.1:1"}
	if !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
}
