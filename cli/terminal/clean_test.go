package terminal

import "testing"

func TestClean_WhatDrivesATerminalOrReordersALine_IsLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2Jb\x07\u009bc\r\n\td":              "a[2Jbc\n\td",
		"rm \u202eexe.txt\u202c \u2066x\u2069 end": "rm exe.txt x end",
		"שלום\u200f 👩\u200d💻 中文 \u00a0":            "שלום\u200f 👩\u200d💻 中文 \u00a0", // marks that texts need stay
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
