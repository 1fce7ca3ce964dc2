package proc

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of Landlock (https://docs.kernel.org/userspace-api/landlock.html)
// are made directly. Package go-landlock restricts every thread of the process and
// silently does less where the kernel can less; here one thread is restricted that
// goes on to become the command, and what the kernel cannot do is reported. It also
// opens paths by name, through links that a command may have put there.

// leastABI has all that a confinement needs on files: before ABI 3 (Linux 6.2)
// commands could empty files that they cannot write to.
const leastABI = 3

const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	accessWrite = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO

	accessDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// onFiles are the rights that a rule on a file may give.
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// ConfinementSupport asks the kernel what it can do.
func ConfinementSupport() Support {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.EOPNOTSUPP:
		return Support{Reason: "Landlock is switched off in this kernel: add it to the kernel's lsm= parameter"}
	case errno == unix.EPERM:
		return Support{Reason: "Landlock is forbidden here, perhaps by the rules of a container (seccomp): allow its three system calls"}
	case errno != 0:
		return Support{Reason: "this kernel has no Landlock, which Linux has since 5.13"}
	}
	return support(int(abi))
}

func support(abi int) Support {
	s := Support{ABI: abi}
	if abi < leastABI {
		s.Reason = fmt.Sprintf("this kernel's Landlock is too old (ABI %d; Linux 6.2 has ABI %d)", abi, leastABI)
		return s
	}
	if abi < 6 {
		s.Gaps = append(s.Gaps, "commands can send signals to processes outside, PicoBot among them (Linux 6.12 prevents it)")
	}
	if abi < 9 {
		s.Gaps = append(s.Gaps, "commands can ask services that listen on sockets in the file system, such as Docker's or the user's systemd, to act for them (Landlock ABI 9 prevents it)")
	}
	return s
}

// handled are all rights of an ABI that a rule can give: what no rule gives is denied.
func handled(abi int) uint64 {
	rights := uint64(1)<<13 - 1
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 9 {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return rights
}

// ruleset is a Landlock ruleset that is being made.
type ruleset struct {
	fd     int
	rights uint64
}

func newRuleset(abi int) (ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("make ruleset: %w", errno)
	}
	return ruleset{fd: int(fd), rights: attr.Handled_access_fs}, nil
}

func (r ruleset) close() { _ = unix.Close(r.fd) }

// allow gives rights on what is open, and on all below it. A link gets none: what it
// leads to has its own rules.
func (r ruleset) allow(fd int, rights uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	rights &= r.rights
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil
	case unix.S_IFDIR:
	default:
		rights &= onFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 && !errors.Is(errno, unix.EBADFD) { // files of pseudo file systems have no rules and need none
		return fmt.Errorf("add rule: %w", errno)
	}
	return nil
}

// enforce restricts the calling thread and what it becomes or starts, for good.
func (r ruleset) enforce() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enforce ruleset: %w", errno)
	}
	return nil
}
