//go:build !linux

package port

// owner is not known on systems without /proc.
func owner(uint16) (Process, bool) { return Process{}, false }
