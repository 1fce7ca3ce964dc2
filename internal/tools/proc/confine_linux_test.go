package proc_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/tools/proc"
)

// den is a home with secrets, its workspace, and what lies around it.
type den struct{ base, home, workspace string }

func newDen(t *testing.T) den {
	t.Helper()
	require.Empty(t, proc.ConfinementSupport().Reason, "these tests need Landlock, as PicoBot does to run commands for chats")
	base := t.TempDir()
	require.NoError(t, os.Mkdir(base+"/tmp", 0o755))
	d := den{base: base, home: filepath.Join(base, "user", ".picobot")}
	d.workspace = filepath.Join(d.home, "workspace")
	for path, content := range map[string]string{
		d.home + "/config.json": "hunter2", d.home + "/gateway.token": "hunter2", d.home + "/storage/sessions.db": "hunter2",
		d.home + "/media/a.png": "picture", d.workspace + "/notes.txt": "notes", base + "/user/diary.txt": "diary", base + "/other/x.txt": "other",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content+"\n"), 0o644))
	}
	return d
}

func (d den) confinement() *proc.Confinement {
	return &proc.Confinement{Hide: []string{d.home}, Read: []string{d.home + "/media"}, Write: []string{d.workspace}, Scratch: []string{d.base + "/tmp", "/dev/shm"}}
}

// run runs a script in the workspace, under the confinement.
func (d den) run(t *testing.T, script string) (string, proc.Exit) {
	t.Helper()
	c := sh(t, script)
	c.Args[0] = "/bin/bash"
	c.Dir, c.Confine = d.workspace, d.confinement()
	c.Env = append(c.Env, "H="+d.home, "B="+d.base, "TMPDIR="+d.base+"/tmp", "GATEWAY="+strconv.Itoa(os.Getpid()))
	out, exit, err := run(t, t.Context(), c)
	require.NoError(t, err)
	return out, exit
}

func TestConfined_TheHome_CannotBeRead(t *testing.T) {
	d := newDen(t)
	require.NoError(t, os.Symlink(d.home, d.workspace+"/link"))
	require.NoError(t, os.Symlink(d.home, d.base+"/other/link"))
	require.NoError(t, os.Symlink("/", d.base+"/other/root"))
	for name, script := range map[string]string{
		"file":               `cat $H/config.json`,
		"token":              `cat $H/gateway.token`,
		"database":           `cat $H/storage/sessions.db`,
		"dots":               `cat ../config.json`,
		"listing":            `ls $H`,
		"listing of storage": `ls $H/storage`,
		"find":               `find $H -type f -name '*.json' | grep .`,
		"link":               `ln -s $H/config.json l; cat l`,
		"link, made before":  `cat link/config.json`,
		"link outside":       `cat $B/other/link/config.json`,
		"link to the root":   `cat $B/other/root$H/config.json`,
		"hard link":          `ln $H/config.json hard && cat hard`,
		"rename":             `mv $H/config.json here && cat here`,
		"rename of the home": `mv $H $B/other/h && cat $B/other/h/config.json`,
		"copy":               `cp -r $H copy`,
		"proc root":          `cat /proc/self/root$H/config.json`,
		"proc cwd":           `cd ..; cat /proc/self/cwd/config.json`,
		"bind mount":         `mkdir -p m; mount --bind $H m && cat m/config.json`,
		"new namespace":      `unshare -rm sh -c "mkdir -p m; mount --bind $H m; cat m/config.json"`,
		"chroot":             `chroot $H /config.json || chroot / cat $H/config.json`,
		"archive":            `tar cf - $H/config.json | tar xOf - | grep hunter`,
		"execute":            `$H/config.json`,
		"source":             `. $H/config.json`,
		"redirect":           `read x <$H/config.json && echo $x`,
		"background":         `(setsid cat $H/config.json) & wait $!`,
		"disk":               `cat /dev/vda /dev/sda /dev/nvme0n1 | head -c 1 | grep -c .`,
		"kernel memory":      `head -c 1 /proc/kcore`,
		"memory device":      `head -c 1 /dev/mem`,
		"disk made by mknod": `mknod disk b 254 0 && head -c 1 disk`,
	} {
		out, exit := d.run(t, script+" 2>&1")
		require.NotZero(t, exit.Code, "%s: %s", name, out)
		require.NotContains(t, out, "hunter2", name)
	}
	require.FileExists(t, d.home+"/config.json")
}

func TestConfined_OutsideTheWorkspace_NothingCanBeWritten(t *testing.T) {
	d := newDen(t)
	for name, script := range map[string]string{
		"file in the home":   `echo x >$H/config.json`,
		"new in the home":    `echo x >$H/new`,
		"append":             `echo x >>$B/user/diary.txt`,
		"new beside it":      `echo x >$B/user/new`,
		"truncate":           `truncate -s 0 $B/user/diary.txt`,
		"truncate the home":  `truncate -s 0 $H/storage/sessions.db`,
		"delete":             `rm -f $B/other/x.txt`,
		"delete the home":    `rm -rf $H/storage`,
		"directory":          `mkdir $B/other/d`,
		"link":               `ln -s x $B/other/l`,
		"rename away":        `mv $B/other/x.txt .`,
		"rename in":          `mv notes.txt $B/other/`,
		"media":              `echo x >$H/media/a.png`,
		"system":             `echo x >/etc/picobot-test`,
		"through a link":     `ln -s $B/other/x.txt l; echo x >l`,
		"kernel setting":     `echo 1 >/proc/sys/kernel/dmesg_restrict`,
		"device made anew":   `mknod $PWD/null c 1 3`,
		"dd":                 `dd if=/dev/zero of=$B/other/x.txt count=1`,
		"touch the root":     `touch /picobot-test`,
		"tee":                `echo x | tee $B/other/x.txt`,
		"process of another": `echo 0 >/proc/$GATEWAY/oom_score_adj`,
	} {
		out, exit := d.run(t, "("+script+") 2>&1")
		require.NotZero(t, exit.Code, "%s: %s", name, out)
	}
	for path, content := range map[string]string{
		d.home + "/config.json": "hunter2\n", d.base + "/user/diary.txt": "diary\n", d.base + "/other/x.txt": "other\n",
		d.home + "/storage/sessions.db": "hunter2\n", d.home + "/media/a.png": "picture\n", d.workspace + "/notes.txt": "notes\n",
	} {
		got, err := os.ReadFile(path)
		require.NoError(t, err, path)
		require.Equal(t, content, string(got), path)
	}
}

func TestConfined_OrdinaryWork_Works(t *testing.T) {
	d := newDen(t)
	for name, c := range map[string]struct{ script, want string }{
		"read the workspace":    {`cat notes.txt`, "notes"},
		"read media":            {`cat $H/media/a.png; ls $H/media`, "picture\na.png"},
		"read around the home":  {`cat $B/user/diary.txt $B/other/x.txt; ls $B/other`, "diary\nother\nx.txt"},
		"read the system":       {`head -c 4 /usr/bin/env | tail -c 3; test -r /etc/passwd && ls /usr >/dev/null && echo ok`, "ELFok"},
		"write":                 {`mkdir -p a/b; echo x >a/b/c; mv a/b/c a/d; ln -s d a/l; cat a/l; rm -r a; ls`, "x\nnotes.txt"},
		"append and truncate":   {`echo 1 >t; echo 2 >>t; cat t; truncate -s 0 t; wc -c <t; rm t`, "1\n2\n0"},
		"hard link":             {`ln notes.txt n2; cat n2; rm n2`, "notes"},
		"pipe with a name":      {`mkfifo p; echo x >p & cat p; rm p`, "x"},
		"temporary files":       {`f=$(mktemp); echo x >$f; cat $f; rm $f`, "x"},
		"here documents":        {"cat <<E\nx\nE\n", "x"},
		"process substitution":  {`cat <(echo x)`, "x"},
		"devices":               {`echo x >/dev/null; head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c`, "3\n3"},
		"standard streams":      {`echo x >/dev/stderr; echo y | cat /dev/stdin >/dev/stdout`, "x\ny"},
		"signals of its own":    {`sleep 100 & kill $!; wait $! ; echo $?`, "143"},
		"looking at itself":     {`tr '\0' ' ' </proc/self/cmdline; readlink /proc/self/cwd`, "tr \\0   " + d.workspace},
		"a script":              {"printf '#!/bin/sh\necho ran\n' >s; chmod +x s; ./s; rm s", "ran"},
		"sockets of its own":    {`command -v python3 >/dev/null || { echo ok; exit; }; python3 -c 'import socket; a=socket.socket(socket.AF_UNIX); a.bind("s"); a.listen(); b=socket.socket(socket.AF_UNIX); b.connect("s"); print("ok")'; rm -f s`, "ok"},
		"processes are visible": {`test -r /proc/$GATEWAY/stat && echo ok`, "ok"},
	} {
		out, exit := d.run(t, "("+c.script+") 2>&1")
		require.Equal(t, c.want, strings.TrimSpace(out), name)
		require.Zero(t, exit.Code, "%s: %s", name, out)
	}
}

func TestConfined_ProcessesOutside_CannotBeTouched(t *testing.T) {
	d := newDen(t)
	t.Setenv("PROC_TEST_SECRET", "hunter2")
	for name, script := range map[string]string{
		"environment":               `cat /proc/$GATEWAY/environ`,
		"memory":                    `cat /proc/$GATEWAY/maps`,
		"name of an open file":      `readlink /proc/$GATEWAY/fd/0`,
		"open file":                 `cat /proc/$GATEWAY/fd/0`,
		"root":                      `cat /proc/$GATEWAY/root$H/config.json`,
		"working directory":         `ls /proc/$GATEWAY/cwd/`,
		"environment of supervisor": `cat /proc/$PPID/environ`,
		"root of the supervisor":    `cat /proc/$PPID/root$H/config.json`,
	} {
		out, exit := d.run(t, script+" 2>&1")
		require.NotZero(t, exit.Code, "%s: %s", name, out)
		require.NotContains(t, out, "hunter2", name)
	}
	if proc.ConfinementSupport().ABI >= 6 {
		for _, script := range []string{`kill -0 $GATEWAY`, `kill -CONT $GATEWAY`, `kill -9 $PPID`, `kill -STOP $PPID`} {
			out, exit := d.run(t, script+" 2>&1")
			require.NotZero(t, exit.Code, "%s: %s", script, out)
		}
	}
}

func TestConfined_TheNetwork_IsOpen(t *testing.T) {
	d := newDen(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, exit := d.run(t, fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && echo connected`, l.Addr().(*net.TCPAddr).Port))
	require.Zero(t, exit.Code, out)
	require.Equal(t, "connected\n", out)
}

// The command cannot end the supervisor, so whatever it leaves behind is found.
func TestConfined_WhatItStarted_IsKilledWithIt(t *testing.T) {
	d := newDen(t)
	_, exit := d.run(t, `kill -9 $PPID; env -i setsid bash -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done`)
	require.Zero(t, exit.Code)
	pid := pidIn(t, d.workspace+"/pid")
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestConfined_RightsOfRoot_DoNotLeadAround(t *testing.T) {
	d := newDen(t)
	out, _ := d.run(t, `grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status`)
	require.Contains(t, out, "NoNewPrivs:\t1")
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if strings.HasPrefix(name, "CapEff") {
			set, err := strconv.ParseUint(value, 16, 64)
			require.NoError(t, err)
			require.Zero(t, set&(1<<21|1<<17|1<<16|1<<19|1<<27|1<<2), "of SYS_ADMIN, RAWIO, MODULE, PTRACE, MKNOD, DAC_READ_SEARCH some are left: %s", value)
		}
	}
}

func TestConfined_ContradictingRules_StartNothing(t *testing.T) {
	d := newDen(t)
	for name, c := range map[string]proc.Confinement{
		"the workspace is the home":       {Hide: []string{d.home}, Write: []string{d.home}},
		"the workspace holds the home":    {Hide: []string{d.home}, Write: []string{d.base}},
		"the workspace holds a key":       {Hide: []string{d.home, d.workspace + "/key"}, Write: []string{d.workspace}},
		"something readable holds it":     {Hide: []string{d.home}, Read: []string{"/"}},
		"by way of a link":                {Hide: []string{d.home}, Write: []string{"/proc/self/root" + d.base}},
		"a relative path":                 {Hide: []string{d.home}, Write: []string{"."}},
		"where the hidden does not exist": {Hide: []string{d.base + "/other/later"}, Write: []string{d.base + "/other"}},
	} {
		require.Error(t, c.Check(), name)
		cmd := sh(t, "echo ran")
		cmd.Confine = &c
		out, _, err := run(t, t.Context(), cmd)
		require.ErrorContains(t, err, c.Check().Error(), name)
		require.Empty(t, out, name)
	}
}

func TestConfined_AHomeInTemporaryFiles_ClosesThemForWriting(t *testing.T) {
	base := t.TempDir()
	home := filepath.Join(base, "home")
	require.NoError(t, os.MkdirAll(home+"/workspace", 0o755))
	require.NoError(t, os.WriteFile(home+"/token", []byte("hunter2"), 0o600))
	c := sh(t, `cat ../token; echo x >../../new; echo fine >here; cat here`)
	c.Dir = home + "/workspace"
	c.Confine = &proc.Confinement{Hide: []string{home}, Write: []string{c.Dir}, Scratch: []string{base}}
	out, _, err := run(t, t.Context(), c)
	require.NoError(t, err)
	require.NotContains(t, out, "hunter2")
	require.Equal(t, 2, strings.Count(out, "ermission denied"), out)
	require.Contains(t, out, "fine")
	require.NoFileExists(t, base+"/new")
}

func TestConfined_ScratchThatIsNone_OpensNothing(t *testing.T) {
	d := newDen(t)
	require.NoError(t, os.Symlink("/", d.workspace+"/root"))
	c := sh(t, `for f in $B/other/y $H/y /picobot-test; do echo x >$f && echo wrote $f; done; true`)
	c.Dir, c.Confine = d.workspace, d.confinement()
	c.Env = append(c.Env, "H="+d.home, "B="+d.base)
	c.Confine.Scratch = []string{"", ".", "..", "/", "relative", d.workspace + "/root", d.base, d.home, d.home + "/nothing"}
	out, _, err := run(t, t.Context(), c)
	require.NoError(t, err)
	require.NotContains(t, out, "wrote")
}

func TestConfined_WhatCannotStart_IsExplained(t *testing.T) {
	d := newDen(t)
	c := sh(t, "")
	c.Args, c.Confine = []string{filepath.Join(d.workspace, "missing")}, d.confinement()
	_, _, err := run(t, t.Context(), c)
	require.ErrorContains(t, err, "no such file")
	c = sh(t, "true")
	c.Dir, c.Confine = filepath.Join(d.workspace, "missing"), d.confinement()
	_, _, err = run(t, t.Context(), c)
	require.ErrorContains(t, err, "no such file")
}

func TestConfined_LargeOrders_Arrive(t *testing.T) {
	d := newDen(t)
	c := sh(t, `printf %s "$BIG" | wc -c`)
	c.Confine, c.Env = d.confinement(), append(c.Env, "BIG="+strings.Repeat("x", 120_000), "BIG2="+strings.Repeat("y", 120_000))
	out, _, err := run(t, t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "120000", strings.TrimSpace(out))
}
