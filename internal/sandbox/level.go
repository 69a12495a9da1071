package sandbox

// Level is the confinement of commands; every report contains it.
type Level string

// The levels.
const (
	Full    Level = "A"        // namespaces, Landlock if the kernel has it, a seccomp filter
	Partial Level = "B"        // Landlock and the filter
	Outside Level = "external" // a container around millhand, according to the user
	None    Level = "none"     // no confinement
)

// State returns what a level confines.
func (l Level) State() State {
	switch l {
	case Full:
		return State{Level: string(l), FS: true, Net: true, PID: true}
	case Partial:
		return State{Level: string(l), FS: true, Net: true, Warning: "commands run in a partial sandbox, without namespaces: modes, owners and times of files outside of the workspace are not protected, and a .git directory in the workspace is only compared and restored after each command"}
	case None:
		return State{Level: string(l), Warning: "commands run without a sandbox: they have all permissions of the user that runs millhand"}
	case Outside:
	}
	return State{Level: string(l)}
}
