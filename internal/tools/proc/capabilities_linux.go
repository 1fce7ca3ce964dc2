package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// dropCapabilities takes from this thread what would let a command of root's around
// the rules on files: reading the kernel's memory or a disk's blocks, loading code
// into the kernel, looking into other processes. What root may do to files stays,
// within the rules. Others than root have none of them, and keep that.
func dropCapabilities() error {
	var header unix.CapUserHeader
	var data [2]unix.CapUserData
	header.Version = unix.LINUX_CAPABILITY_VERSION_3
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	for _, c := range []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_SYS_PTRACE, unix.CAP_SYS_BOOT, unix.CAP_SYS_TIME,
		unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_NET_ADMIN, unix.CAP_SYSLOG, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
		unix.CAP_AUDIT_CONTROL, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE,
	} {
		// The bounding set is what root gets back with its next program. Who may not
		// change it has nothing to get back; older kernels do not know the last ones.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		keep := ^(uint32(1) << (c % 32))
		set := &data[c/32]
		set.Effective &= keep
		set.Permitted &= keep
		set.Inheritable &= keep
	}
	return unix.Capset(&header, &data[0])
}
