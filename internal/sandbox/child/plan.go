package child

import "time"

// Name is what a process that is to be a child has as its argument zero. The
// arguments after it are the directory to start in, the program, and its
// arguments; a child without a program prepares everything, and starts nothing.
const Name = "millhand-sandbox"

// The files that a child inherits.
const (
	PlanFile    = 3 // the Plan as JSON, read from its beginning whatever the offset
	ControlFile = 4 // a SOCK_SEQPACKET socket to the parent; its end is the order to end
)

// Refused is the exit code of a child that could not do what its plan says, and
// so started nothing.
const Refused = 125

// The first byte of a message to the parent; the rest is said here.
const (
	SaysExit    = 'x' // the command's exit code and signal, as decimals
	SaysRefused = 'r' // why nothing was started: the error number as a decimal (0 for none), a space, the text
	SaysListen  = 'l' // nothing; the socket is passed along
)

// Plan is what a child does to itself. It holds nothing secret: the confined
// command may well come to see it.
type Plan struct {
	Namespaces  bool    // the process was started in namespaces of its own
	UID, GID    int     // Namespaces: map these ids to themselves; -1 if the parent has mapped them
	Mounts      []Mount // Namespaces: the whole file system, parents before children
	Rules       []Rule  // for Landlock
	Landlock    int     // the version of Landlock's interface to use; 0 is to do without
	Sockets     Sockets
	ConnectPort uint16 // ProxyOnly: the only port of 127.0.0.1 that can be connected to
	ListenPort  uint16 // Namespaces: listen on this port of loopback and hand the socket to the parent
	Limits      Limits
	Grace       time.Duration // between SIGTERM and SIGKILL for the command
}

// Mount is a part of the file system in a new mount namespace.
type Mount struct {
	Kind   Kind
	Path   string // where, absolute and clean
	Source string // Bind: the file or directory shown; Link: the link's text
	Write  bool   // Bind, Tmpfs: may be written
	Bytes  int64  // Tmpfs: how much fits; 0 is half of the memory

	Optional bool // Bind: what was removed since the plan was made is left out
}

// Kind is what a Mount shows.
type Kind string

// The kinds of mounts.
const (
	Bind   Kind = "bind"   // a part of the real file system
	Device Kind = "device" // a device node of the real file system
	Tmpfs  Kind = "tmpfs"  // an empty directory in memory
	Proc   Kind = "proc"   // the processes of the namespace
	Pts    Kind = "pts"    // terminals of its own
	Link   Kind = "link"   // a symbolic link
)

// Rule allows something below a path.
type Rule struct {
	Path   string
	Access Access
}

// Access is what a Rule allows.
type Access string

// The kinds of access.
const (
	Read Access = "read" // reading and executing
	Full Access = "full" // everything but making devices
	Node Access = "node" // reading and writing a device that exists
)

// Sockets says which sockets can be made.
type Sockets string

// The choices of sockets.
const (
	AnySocket Sockets = "any"   // IP and unix: for a network namespace of its own
	UnixPairs Sockets = "pairs" // unix, which can't be connected to anything that exists already
	ProxyOnly Sockets = "proxy" // TCP, to loopback's Plan.ConnectPort; no unix but pairs
)

// Limits bounds what a command uses; 0 is no limit.
type Limits struct {
	Pids      int // processes and threads of the command
	Keeper    Keeper
	PIDMax    bool  // limit the PIDs of the namespace, too: RLIMIT_NPROC does not bind root
	DataBytes int64 // private memory of each process
	FileBytes int64 // size of each file written
}

// Keeper is the mechanism that enforces Limits.Pids. RLIMIT_NPROC does not bind the
// machine's root.
type Keeper string

// The keepers of Limits.Pids.
const (
	Group     Keeper = "group"     // the control group that the parent starts children in
	Namespace Keeper = "namespace" // RLIMIT_NPROC, in a user namespace where nothing else runs
	User      Keeper = "user"      // RLIMIT_NPROC, in addition to the processes that the user has when a command starts
)
