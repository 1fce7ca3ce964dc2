package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/chat"
	"picobot/internal/tools"
)

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// What a hostile model, or a page that talked it into something, may try. None of it
// may show a secret or change anything outside the workspace, and the refused ones
// are refused with a sentence.
func TestHostileInputs_ShowAndChangeNothing(t *testing.T) {
	h := newHome(t)
	outside := filepath.Dir(h.dir)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "diary.txt"), []byte("untouched\n"), 0o600))
	require.NoError(t, os.Symlink("../config.json", filepath.Join(h.workspace.Dir(), "link")))
	require.NoError(t, os.Symlink(h.dir, filepath.Join(h.workspace.Dir(), "up")))
	put(t, h.workspace, "mine.txt", "mine")
	r := registry(t, tools.Options{Spill: h.workspace.Spill}, h.bash(h.sandbox()), tools.FileRead(h.workspace, 0), tools.FileWrite(h.workspace),
		tools.FileEdit(h.workspace), tools.HTTPRequest(tools.HTTPOptions{}), tools.WebFetch(tools.HTTPOptions{}))

	type input struct {
		tool, arguments string
		refused         bool // the result is an error
	}
	inputs := map[string]input{}
	for name, path := range map[string]string{
		"parent": "../config.json", "many parents": "../../../../../../etc/shadow", "parent inside": "a/../../config.json",
		"absolute": "/etc/shadow", "absolute home": h.dir + "/config.json", "tilde user": "~root/.ssh/id_rsa", "tilde parent": "~/../config.json",
		"link": "link", "link to a directory": "up/config.json", "link and dots": "up/../diary.txt", "NUL": "mine.txt\x00.png",
		"newline": "mine.txt\n../config.json", "backslashes": `..\config.json`, "url": "file://" + h.dir + "/config.json", "escaped": "%2e%2e/config.json",
		"double escaped": "..%252fconfig.json", "wide dots": "．．/config.json", "overlong": strings.Repeat("a/", 3000) + "x", "long name": strings.Repeat("a", 300),
		"proc": "/proc/self/environ", "proc root": "/proc/self/root" + h.dir + "/config.json", "device": "/dev/zero", "empty": "", "directory": ".", "dot dot": "..",
	} {
		inputs["read "+name] = input{"file_read", `{"path":` + quoted(path) + `}`, true}
		// Some of these are ordinary names of new files.
		inputs["write "+name] = input{"file_write", `{"path":` + quoted(path) + `,"content":"pwned"}`, false}
	}
	inputs["edit parent"] = input{"file_edit", `{"path":"../config.json","old_text":"hunter2","new_text":"pwned"}`, true}
	inputs["edit link"] = input{"file_edit", `{"path":"up/config.json","old_text":"hunter2","new_text":"pwned"}`, true}

	for name, url := range map[string]string{
		"loopback": "http://127.0.0.1:19876/api/v1/sessions", "name of loopback": "http://localhost:8233/", "decimal": "http://2130706433/", "octal": "http://0177.0.0.1/",
		"hexadecimal": "http://0x7f000001/", "short": "http://127.1/", "v6": "http://[::1]:19876/", "mapped": "http://[::ffff:127.0.0.1]/", "NAT64": "http://[64:ff9b::7f00:1]/",
		"6to4": "http://[2002:7f00:1::]/", "unspecified": "http://0.0.0.0:19876/", "private": "http://192.168.1.1/", "metadata": "http://169.254.169.254/latest/meta-data/iam/",
		"metadata v6": "http://[fd00:ec2::254]/", "user trick": "http://example.com@127.0.0.1/", "backslash trick": `http://example.com\@127.0.0.1/`, "circled": "http://①②⑦.⓪.⓪.①/",
		"file": "file:///etc/shadow", "gopher": "gopher://127.0.0.1:6379/_FLUSHALL", "header in URL": "http://example.com/ HTTP/1.1\r\nX: y", "data": "data:text/html,x",
		"unix socket": "unix:///var/run/docker.sock", "zone": "http://[fe80::1%25lo]/", "redis": "http://example.com:6379/",
	} {
		inputs["fetch "+name] = input{"web_fetch", `{"url":` + quoted(url) + `}`, true}
		inputs["post "+name] = input{"http_request", `{"method":"POST","url":` + quoted(url) + `,"body":"x"}`, true}
	}
	inputs["host header"] = input{"http_request", `{"method":"GET","url":"https://example.com/","headers":{"Host":"169.254.169.254"}}`, true}
	inputs["smuggling"] = input{"http_request", `{"method":"POST","url":"https://example.com/","headers":{"Transfer-Encoding":"chunked"},"body":"0\r\n\r\nGET / HTTP/1.1"}`, true}

	for name, command := range map[string]string{
		"cat": "cat ../config.json", "cat token": "cat " + h.dir + "/gateway.token", "through proc": "cat /proc/self/root" + h.dir + "/temporal.key", "link": "cat link up/config.json",
		"hard link": "ln ../config.json x; cat x", "move": "mv ../storage s; cat s/*", "copy": "cp -r .. all; cat all/*", "archive": "tar cf - .. | strings | head -100",
		"find": "find " + h.dir + " -type f -exec cat {} +", "grep": "grep -r hunter " + h.dir, "overwrite": "echo pwned >../config.json", "delete": "rm -rf ../storage ../config.json",
		"truncate": "truncate -s 0 ../storage/sessions.db", "write outside": "echo pwned >" + outside + "/diary.txt", "append outside": "echo pwned >>" + outside + "/diary.txt",
		"environment of everybody": "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -i -E 'token|key'", "memory of PicoBot": fmt.Sprintf("cat /proc/%d/mem /proc/%d/maps", os.Getpid(), os.Getpid()),
		"kill nobody": fmt.Sprintf("kill -0 %d $PPID", os.Getpid()), "mount": "mount --bind " + h.dir + " . ; cat config.json",
		"namespace": "unshare -rmU cat " + h.dir + "/config.json", "chroot": "chroot " + h.dir + " /bin/sh -c 'cat /config.json'", "set-uid": "sudo -n cat ../config.json; su -c 'cat ../config.json'",
		"disk": "head -c 1000 /dev/vda /dev/sda 2>&1 | wc -l", "background": "setsid nohup cat ../config.json >out & wait; cat out", "NUL": "cat mine.txt\x00; cat ../config.json",
		"invalid UTF-8 output": "head -c 100 /dev/urandom", "terminal codes": `printf '\033]0;pwned\007\033[2J'`, "interpreter": `perl -e 'open F,"../config.json"; print <F>'; python3 -c 'print(open("../config.json").read())'`,
		"debugger": fmt.Sprintf("gdb -p %d -batch; strace -p %d", os.Getpid(), os.Getpid()), "workdir by cd": "cd ..; cat config.json; ls", "history": "cat ~/../config.json", "preload": "LD_PRELOAD=../config.json cat mine.txt",
	} {
		inputs["run "+name] = input{"bash", `{"timeout_seconds":20,"command":` + quoted(command) + `}`, false}
	}
	inputs["run elsewhere"] = input{"bash", `{"command":"cat config.json","workdir":"up"}`, true}
	require.GreaterOrEqual(t, len(inputs), 60)

	for _, name := range slices.Sorted(maps.Keys(inputs)) { // reads come before writes
		in := inputs[name]
		t.Run(name, func(t *testing.T) {
			result := r.Run(t.Context(), tools.Call{Channel: chat.ChannelFeishu}, in.tool, in.arguments)
			require.NotEmpty(t, result.Content)
			if in.refused {
				requireError(t, result, "")
			}
			require.NotContains(t, result.Content, "hunter2")
		})
	}
	for path, want := range map[string]string{
		filepath.Join(outside, "diary.txt"): "untouched\n", filepath.Join(h.dir, "config.json"): "hunter2\n", filepath.Join(h.dir, "storage/sessions.db"): "hunter2\n",
	} {
		require.Equal(t, want, content(t, path))
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing new outside the home")
}
