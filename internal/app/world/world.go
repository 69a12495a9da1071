// Package world has what a use case gets from its process: streams, variables, the clock, and what follows from these:
// directories, credentials of git and, with the names in a plan, secrets ([World.Redactor]). It also has the features
// that the table of commands sets, because the program can be built without them: [Rollouts], the forecast, and the
// texts of pull requests. It reads no variable of the process itself, runs nothing, and knows no command.
package world

import (
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/admission"
)

// World is the environment of a command: streams, variables and the clock.
type World struct {
	In       io.Reader
	Out, Err io.Writer // Err is written to concurrently, as os.Stderr may be
	Dir      string    // current directory, absolute; "" if it is unknown
	Getenv   func(string) string
	Names    []string // of the variables
	Secrets  []string // values of variables whose names mark them as secret, in addition to known ones
	Now      func() time.Time
	Proxy    func(*http.Request) (*url.URL, error) // for requests to models and remotes; nil uses none
	// Sleep waits between requests to forges, and for locks.
	Sleep clock.Sleep
	// System are the directories of the system in which private files are hidden from commands;
	// empty for all of them.
	System []string
	// PullTexts compares the changes of a run that has ended, and returns what the descriptions of its pull requests
	// get of that, by the ids of jobs; nil if nothing compares them.
	PullTexts func(files fs.FS, r *report.Report) (of func(job string) string)
	// Rollouts finds which jobs of a rollout are next; nil refuses manifests with one.
	Rollouts Rollouts
	// Forecast estimates what jobs of rollouts cost; nil estimates nothing, and a rollout that advances by it waits.
	Forecast admission.Forecast
	// Version is that of the program; empty in tests.
	Version string
}

// Clock returns how time is read and waited for.
func (w World) Clock() clock.Clock { return clock.Clock{Now: w.Now, Sleep: w.Sleep} }

// Environ returns the environment of the process, as NAME=value.
func (w World) Environ() []string {
	list := make([]string, 0, len(w.Names))
	for _, name := range w.Names {
		list = append(list, name+"="+w.Getenv(name))
	}
	return list
}
