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
// A command that is to be confined (see Confinement) is started by way of one more
// process, picobot-confine: it puts itself under Landlock's rules and then becomes
// the command. What holds for it holds for all its descendants, and the supervisor
// stays outside, where the command can neither stop it nor look into it. Landlock
// also keeps the command from looking into any process outside (ptrace, and with it
// /proc/PID/environ, mem, fd, root and cwd), whoever runs it.
//
// The package knows nothing of tools, shells or results. It must not decide how
// long a command may run: that is the context's.
package proc
