package event

// ScriptCommand is the kind of the command of a task's script.
const ScriptCommand = "script"

// The results of a script.
const (
	ScriptPassed    = "passed"    // its changes are those of the job
	ScriptUnchanged = "unchanged" // it changed nothing
	ScriptFailed    = "failed"    // its changes were undone
)

// Script is the payload of script.ended, after the verify commands that a script without an
// error runs.
type Script struct {
	File      string `json:"file"`      // as in the manifest
	SHA256    string `json:"sha256"`    // of its content, in hexadecimal
	ExitCode  int    `json:"exit_code"` // -1 if it was killed or never started
	ElapsedMS int64  `json:"elapsed_ms"`
	Outcome   string `json:"outcome"` // ScriptPassed, ScriptUnchanged or ScriptFailed
	Reason    string `json:"reason"`  // why a session does its work, or would do it; empty if none does
	Tail      string `json:"tail"`    // of its output
}

// Exit describes how the script ended.
func (s *Script) Exit() string { return ExitText(s.ExitCode, 0) }
