package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/text/printable"
)

// World is the environment of a command: streams, variables and the clock.
type World struct {
	In       io.Reader
	Out, Err io.Writer
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
}

// clock returns how time is read and waited for.
func (w World) clock() clock.Clock { return clock.Clock{Now: w.Now, Sleep: w.Sleep} }

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, w World) int {
	out := &output{to: w.Out}
	w.Out = out
	app := newApp(w)
	for _, text := range misspeltVariables(app, w.Names) {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+text))
	}
	err := runLine(ctx, app, args[min(1, len(args)):], w.Getenv)
	unwritten := out.failure()
	if err == nil && unwritten == nil {
		return int(event.ExitOK)
	}
	known := secrets(w, nil, nil)
	shown := excerpts{known: known}
	for _, p := range problemsOf(err) { // they quote the manifest
		fmt.Fprintf(w.Err, "%s\n%s", printable.Text(known.Text(p.String())), shown.of(p))
	}
	for _, each := range []error{err, unwritten} {
		if each != nil && each.Error() != "" {
			fmt.Fprintln(w.Err, "millhand: "+printable.Text(known.Text(each.Error())))
		}
	}
	return int(event.Worst([]event.Exit{exitOf(err), exitOf(unwritten)}))
}
