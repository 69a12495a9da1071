package sandbox

// Level is how far commands are confined; it stands in every report.
type Level string

// The levels.
const (
	Full    Level = "A"        // namespaces, Landlock where there is any, a filter of system calls
	Partial Level = "B"        // Landlock and the filter
	Outside Level = "external" // by a container around millhand, as the user says
	None    Level = "none"     // not at all
)

// State says what a level confines.
func (l Level) State() State {
	switch l {
	case Full:
		return State{Level: string(l), FS: true, Net: true, PID: true}
	case Partial:
		return State{Level: string(l), FS: true, Net: true, Warning: "commands run in a partial sandbox, without namespaces: modes, owners and times of files outside of the workspace are not protected, nor is a .git directory inside of it but by comparing it after each command"}
	case None:
		return State{Level: string(l), Warning: "commands run without a sandbox: they can do whatever the user can that millhand runs as"}
	case Outside:
	}
	return State{Level: string(l)}
}
