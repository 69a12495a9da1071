// Package sandbox confines child processes with kernel features: their access to
// the file system, the network and other processes, and their resource usage. It
// does not start processes: a [Sandbox] turns a command line into a [Launch], which
// package proc starts.
//
// There are two levels. [Full] uses namespaces: a mount namespace that contains only
// granted paths, a PID namespace, and a network namespace that is empty or connected
// to a proxy; in addition Landlock, no capabilities, and a seccomp filter. [Partial]
// is for machines that forbid namespaces: Landlock and the filter only. [Probe]
// determines the level of a machine by trying each.
//
// At [Full] a command can connect to a unix socket in the file system only if a command
// created it. Landlock ensures this since Linux 7.1, before that the supervisor, which
// connects sockets for commands; see ownSockets in package child. Mounts that cover the
// sockets of others would require a search of every granted directory for each command,
// and miss sockets that are created later.
//
// [Partial] does not restrict, and why: the owner, mode, times and extended
// attributes of files of the same user (Landlock has no right for them);
// whether a file exists, its size, its attributes, the target of a symlink and
// the time of changes (Landlock has no right for these either); a path that is
// read-only or hidden inside of a writable directory (Landlock rules only add
// rights): [Guard] restores git's control files afterwards, but neither its index
// nor its branches; the names and arguments of other processes, and the connections
// and sockets of the machine; the priority and CPU affinity of the user's other
// processes, unless they belong to root; signals to them on kernels before 6.12,
// where a command that kills its supervisor leaves processes for [Sweep]. Usability
// at [Partial]: programs can't use /tmp, /dev/shm, terminals, System V IPC or POSIX
// message queues, or connect to each other.
//
// Package corpus lists the known attacks.
//
// Neither level restricts: data sent to permitted hosts; CPU time, and shared memory
// if no control group can be created; the size of a directory, which is monitored,
// not limited by a quota; programs that a command left in the workspace and somebody
// runs later outside of the sandbox, including programs that git starts because of the
// configuration of a nested repository that was added; reading files in the system's
// directories that every user of the machine can read, including /etc. [Private] finds the
// others once per run. A directory with private files is granted entry by entry, so that a
// replaced or new file in it is not readable; one in a directory that had none is.
//
// Package sandbox does not define policy. Package child runs inside of the sandbox;
// package proxy is the network proxy.
package sandbox
