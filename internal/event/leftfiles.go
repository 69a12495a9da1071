package event

import (
	"fmt"
	"strings"
)

// Maker is what left files in the workspace of a job, other than the agent's deliberate changes.
type Maker string

// The makers.
const (
	BySetup    Maker = "setup"
	ByBaseline Maker = "baseline"
	ByVerify   Maker = "verify"
	ByHook     Maker = "hook"
	ByBuild    Maker = "build" // artifacts that the agent's commands left: compiled files, caches, reports of tests
	ByAgent    Maker = "agent" // files that a file tool wrote where programs leave artifacts: they are not left out
)

// Key returns the word of commit.include that commits what it leaves.
func (m Maker) Key() string {
	switch m { //nolint:exhaustive // others have their own name
	case ByBaseline:
		return string(ByVerify)
	case ByHook:
		return "hooks"
	}
	return string(m)
}

// Left is the payload of files.left: files that something else than the agent left in the
// workspace, as far as they differ from what an earlier event of the job has.
type Left struct {
	By    Maker      `json:"by"`    // what left them; agent for files that a file tool wrote where programs leave artifacts
	Files []LeftFile `json:"files"` // sorted by path
}

// LeftFile is one of them.
type LeftFile struct {
	Path  string `json:"path"`            // relative to the repository's root; that of a directory of build artifacts ends with a slash
	State string `json:"state,omitempty"` // its mode and hash, "deleted", "refused" or, if it is as at the start, "base"; empty for a directory
}

// LeftOutPath is a file, or several of a directory, that is left out of the job's changes because
// something else than the agent made it.
type LeftOutPath struct {
	Path  string `json:"path"`  // relative to the repository's root; that of a directory ends with a slash
	By    Maker  `json:"by"`    // what made it
	Files int    `json:"files"` // 1, or the number of files in the directory
}

// String describes the entry for people.
func (l LeftOutPath) String() string {
	if l.Files > 1 {
		return fmt.Sprintf("%s (%d files, %s)", l.Path, l.Files, l.By)
	}
	return fmt.Sprintf("%s (%s)", l.Path, l.By)
}

// FirstLeftOut lists the first files of many, by what made them.
func FirstLeftOut(files []LeftOutPath) string {
	const most = 5
	var list []string
	for _, f := range files[:min(len(files), most)] {
		list = append(list, f.String())
	}
	if more := len(files) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
