// Package runtest makes the options of runs from command lines, for the tests of use cases that need a run.
package runtest

import (
	"testing"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
)

// Options returns the options of the arguments of millhand run, as the command of a user in a directory has them.
func Options(t *testing.T, dir string, args ...string) invocation.Options {
	t.Helper()
	o := invocation.New()
	manifests, _, err := option.Read(o.Fields(), args)
	if err == nil {
		err = o.Parse(manifests)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Invocation = &event.Invocation{Dir: dir, Args: args}
	return *o
}
