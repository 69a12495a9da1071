package child

import "time"

// Name is argument 0 of a child, the only one.
const Name = "millhand-sandbox"

// The files that a child inherits, besides null devices as standard input, output and error.
const (
	PlanFile    = 3 // the encoded Plan, read from offset 0
	ControlFile = 4 // a SOCK_SEQPACKET socket to the parent; EOF means to kill the command and exit
)

// Request is the command that a child runs. The parent sends one message with RequestFiles open
// files: the encoded request, and the standard input, output and error of the command. A
// child can be started before its command is known: until the message it only depends on its plan.
type Request struct {
	Dir  string   // working directory
	Args []string // program, looked up in the PATH of Env, and arguments; none: set up the sandbox and start nothing
	Env  []string // complete environment
}

// RequestFiles is the number of files that are sent with a Request.
const RequestFiles = 4

// Refused is the exit code of a child that could not apply its plan, and started nothing.
const Refused = 125

// The first byte of a message to the parent, and the contents of the message.
const (
	ReportExit    = 'x' // the command's exit code and signal, as decimals
	ReportRefused = 'r' // why the command was not started: the error number as a decimal (0 for none), a space, the text
	ReportUnable  = 'u' // the same, if the sandbox was ready and the command is at fault, or the limits of the job
	ReportListen  = 'l' // empty; the socket is passed with it
)

// Plan is the configuration of a child. It contains no secrets, because the confined
// command may be able to read it.
type Plan struct {
	Namespaces  bool    // the process was started in new namespaces
	UID, GID    int     // Namespaces: map these IDs to themselves; -1 if the parent has mapped them
	Mounts      []Mount // Namespaces: the complete file system, parents before children
	Rules       []Rule  // for Landlock
	Landlock    int     // the version of Landlock's interface; 0 means no Landlock
	Sockets     Sockets
	ConnectPort uint16 // ProxyOnly: the only port of 127.0.0.1 that can be connected to
	ListenPort  uint16 // Namespaces: listen on this port of loopback and pass the socket to the parent
	Limits      Limits
	Grace       time.Duration // between SIGTERM and SIGKILL for the command
}

// Mount is a mount in the new mount namespace.
type Mount struct {
	Kind   Kind
	Path   string // mount point, absolute and clean
	Source string // Bind, Lock: the file or directory; Link: the target; Overlay: the lower directory
	Write  bool   // Bind, Tmpfs, Overlay: writable
	Bytes  int64  // Tmpfs: size; 0 is half of the memory

	Layers  string   // Overlay: the directory for what commands write, which they don't see
	Without []string // Overlay: paths in Source that commands don't see

	Optional bool // ignored if the source of a Bind, or the file that the mount covers, was removed since the plan was created
}

// Kind is the kind of a Mount.
type Kind string

// The kinds of mounts.
const (
	Bind    Kind = "bind"    // a path of the machine's file system
	Overlay Kind = "overlay" // a directory whose changes go to another one
	Lock    Kind = "lock"    // one in a writable mount, read-only; ignored if it was removed or replaced
	Device  Kind = "device"  // a device node of the machine
	Tmpfs   Kind = "tmpfs"   // an empty directory in memory
	Proc    Kind = "proc"    // the processes of the namespace
	Pts     Kind = "pts"     // new pseudo-terminals
	Symlink Kind = "link"    // a symlink
)

// Rule grants access to a path and everything below it.
type Rule struct {
	Path   string
	Access Access
	Entry  bool // found in a directory that is granted by its entries: ignored if a symlink replaced it
	File   bool // it was a file when the plan was created; a directory that replaced it can't be listed
}

// Access is the access that a Rule grants.
type Access string

// The kinds of access.
const (
	List Access = "list" // reading directories
	Read Access = "read" // reading and executing
	Full Access = "full" // everything except creating devices
	Node Access = "node" // reading and writing a device that exists
)

// Sockets is which sockets can be created and connected.
type Sockets string

// ownNetwork reports whether the sockets are for a separate network namespace.
func (s Sockets) ownNetwork() bool { return s == AnySocket || s == OwnSocket || s == IPSocket }

// The choices of sockets.
const (
	AnySocket Sockets = "any"   // IP and unix: for a separate network namespace, and a Landlock that restricts unix sockets
	OwnSocket Sockets = "own"   // the same without datagrams over unix sockets; the supervisor connects sockets, see ownSockets
	IPSocket  Sockets = "ip"    // IP and unix socket pairs: OwnSocket if the supervisor can't receive system calls
	UnixPairs Sockets = "pairs" // unix socket pairs, which can't be connected to existing sockets
	ProxyOnly Sockets = "proxy" // TCP to Plan.ConnectPort on loopback, and unix socket pairs
)

// Limits are limits on the resources of a command; 0 is unlimited.
type Limits struct {
	Pids      int // processes and threads of the command
	Keeper    Keeper
	PIDMax    bool  // also limit the PIDs of the namespace: RLIMIT_NPROC does not apply to root
	DataBytes int64 // private memory of each process
	FileBytes int64 // size of each file written
}

// Keeper is the mechanism that enforces Limits.Pids. RLIMIT_NPROC does not apply to
// the machine's root.
type Keeper string

// The keepers of Limits.Pids.
const (
	Group     Keeper = "group"     // the control group that the parent starts children in
	Namespace Keeper = "namespace" // RLIMIT_NPROC, in a user namespace without other processes
	User      Keeper = "user"      // RLIMIT_NPROC, in addition to the processes that the user has when a command starts
)
