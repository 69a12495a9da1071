// Package sandbox confines child processes by the kernel: what they see and
// change of the file system, whom they reach over the network, which other
// processes they touch, and how much they use. It starts nothing itself: a
// [Sandbox] turns a command line into a [Launch], which package proc starts.
//
// There are two levels. [Full] has namespaces of its own: a file system of
// nothing but what was granted, its own processes, and its own network, which
// is empty or leads to a proxy; then Landlock, no capabilities, and a filter of
// system calls. [Partial] is for machines that forbid namespaces: Landlock and
// the filter alone. [Probe] finds out what a machine can do, by doing it.
//
// What [Partial] doesn't hold, and why: the owner, mode, times and extended
// attributes of files of the same user (Landlock has no right for them), and
// whether a file exists, its size, its attributes, where a link leads and when
// it changes (nor for these); a path that is to be read-only or hidden inside of
// a directory that is writable (Landlock only adds rights), for which see [Guard],
// which takes back what decides how git behaves, but neither its index nor its
// branches; the names and arguments of other processes, and what connections and
// sockets the machine has; the priority and the processors of the user's other
// processes, unless these are root's; signals to them on kernels before 6.12,
// where a command that ends its supervisor leaves strays for [Sweep]. There, too,
// programs can't use /tmp, /dev/shm, terminals, or the memory and messages that
// processes share by system call, or connect to each other.
//
// What is known of this, attack by attack, is listed in package corpus.
//
// What neither holds: hosts that may be reached can be told anything; a command
// can use all processor time, and memory that isn't private where no control
// group can be made; the size of a directory is watched, not bounded; whoever later
// runs what a command has left in the workspace runs it unconfined, which git
// does with the settings of a repository in a directory of it, once that is added; at
// level [Full] as at [Partial], whatever is readable in the system's directories is
// readable, /etc as every user of the machine sees it.
//
// Policy is made elsewhere. The code that runs inside is package child, and the
// proxy is package proxy.
package sandbox
