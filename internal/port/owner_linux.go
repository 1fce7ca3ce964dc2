package port

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const stateListen = "0A"

// owner finds the socket in the kernel's table and then the process that has it
// open. Other users' processes do not show their open files, so they stay
// unknown.
func owner(port uint16) (Process, bool) {
	links := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listeners(table, port) {
			links["socket:["+inode+"]"] = true
		}
	}
	if len(links) == 0 {
		return Process{}, false
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err != nil || !links[link] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
		if err != nil {
			continue
		}
		return Process{PID: pid, Name: processName(pid)}, true
	}
	return Process{}, false
}

// listeners returns the inodes of the sockets that listen on port.
func listeners(table string, port uint16) []string {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	suffix := fmt.Sprintf(":%04X", port)
	var inodes []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
		field := strings.Fields(lines.Text())
		if len(field) > 9 && field[3] == stateListen && strings.HasSuffix(field[1], suffix) {
			inodes = append(inodes, field[9])
		}
	}
	return inodes
}

func processName(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(comm))
}
