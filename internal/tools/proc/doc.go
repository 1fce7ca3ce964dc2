// Package proc runs a command so that nothing of it is left behind: when the
// command ends, when it is stopped, and when this process dies, whatever the
// command started is killed too, also what moved to a session of its own.
//
// On Linux it does so through a supervisor: this program started once more under
// the name picobot-exec, which main (and TestMain) must hand over to with
// Main(). The supervisor adopts every orphan of the command (it is a
// "subreaper"), so that all of them stay its descendants and can be found; it
// holds a pipe whose end of file means that the parent died or wants it to stop.
// It has none of the parent's environment and none of its open files, since the
// command could read both through /proc. Elsewhere a process group is the best
// there is.
//
// Confinement of the command (see confine in supervisor_linux.go) happens in the
// supervisor, before the command starts: what holds for the supervisor then
// holds for all its descendants.
//
// The package knows nothing of tools, shells or results. It must not decide how
// long a command may run: that is the context's.
package proc
