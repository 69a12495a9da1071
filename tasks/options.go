package tasks

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
)

// EventVariables are those with the path of the event's file.
func EventVariables() []string { return []string{"GITHUB_EVENT_PATH", "TRIGGER_PAYLOAD"} }

// Overrides are what the command line sets above the manifests. Zero values
// change nothing.
type Overrides struct {
	Model    string
	Profile  string   // a preset, a profile of the manifest, or a YAML file
	Only     []string // ids of tasks or jobs
	Vars     map[string]string
	Parallel int
	MaxTurns int
	MaxCost  money.USD     // of the run: lowers, never raises, the manifest's
	MaxTime  time.Duration // of the run, likewise

	Limit   int         // at most so many jobs, the plan's first ones; 0 for all
	Sample  int         // so many jobs, spread over the plan by a digest of their ids; 0 for all
	Shard   Shard       // of what is left after that; zero for all
	Publish PublishMode // "" for the manifest's

	NoRollout bool // the plan has no rollout, whatever the manifests state: its jobs are selected otherwise
}

// Options are what loading manifests needs to know of the world.
type Options struct {
	Dir       string              // current directory, absolute
	Getenv    func(string) string // for ${{ env.X }}
	Overrides Overrides
	Policies  policy.Set             // that nothing in a manifest or on the command line exceeds
	Prices    *prices.Table          // that no manifest may lower under a policy's budget; nil for none
	At        time.Time              // of these prices
	Lists     []Listed               // of sources in repos; see Plan.Unlisted
	Event     string                 // file with the CI's event; "" for the one that the environment names
	RunID     string                 // for ${{ run.id }} and ${{ run.date }}; "" for an unknown run
	Stdin     func() ([]byte, error) // read for the manifest "-", or else for repos: [{file: "-"}], and never otherwise

	Names []string // of the manifests in the plan; nil for their paths
	Root  string   // directory with all inputs of a queued plan, see [Below]; "" for no limit
}

// Below returns manifests and options for expand.Load that use what [Materialize] has written
// below a directory. With the same environment the plan is the same, except for that
// directory before its paths. Relative paths of manifests stay below it. The event of the CI is only that of o.Event.
func Below(root string, manifests []string, o Options) ([]string, Options) {
	moved := func(path string) string {
		if !filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(root, path)
	}
	below := make([]string, len(manifests))
	for i, path := range manifests {
		below[i] = moved(path)
	}
	o.Dir, o.Event, o.Overrides.Profile = filepath.Join(root, o.Dir), moved(o.Event), moved(o.Overrides.Profile)
	o.Root, o.Names = root, manifests
	getenv := o.Getenv
	o.Getenv = func(name string) string {
		if getenv == nil || slices.Contains(EventVariables(), name) {
			return ""
		}
		return getenv(name)
	}
	return below, o
}
