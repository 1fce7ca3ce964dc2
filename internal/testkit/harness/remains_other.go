//go:build !linux

package harness

// Remains finds nothing where there is no /proc.
func (h *Harness) Remains(...int) []string { return nil }

// Descendants finds nothing where there is no /proc.
func (p *Process) Descendants() []int { return nil }

// Alive knows nothing where there is no /proc.
func Alive(int) bool { return false }
