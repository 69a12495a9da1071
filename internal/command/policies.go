package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/policy"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/spend"
	"github.com/millhand/millhand/tasks"
)

// systemPolicy is the policy of a machine: it is always read if it exists.
const systemPolicy = "/etc/millhand/policy.yaml"

// policyOptions are what a command line says of policies, and the paths that
// policies bound.
type policyOptions struct {
	policies   []string // files, beside the machine's policy
	untrusted  bool
	maxProfile string // "" for none
	paths      []flagPath
}

// flagPath is a path that a flag gives; "" if it is not given.
type flagPath struct{ flag, path string }

// policyFlag is the flag of all commands that a policy binds.
func (o *policyOptions) policyFlag(category string) cli.Flag {
	return &cli.GenericFlag{Name: "policy", Category: category, Value: (*values)(&o.policies), EnvVars: noVariable(), Usage: "Obey the policy in `FILE`, beside " + systemPolicy + " (repeatable)"}
}

// readPolicies returns the policies that bind a command line: the machine's, those
// that it names, and with --untrusted the built-in one. A policy that can't be
// read is an error: what it would have refused is unknown.
func readPolicies(ctx context.Context, w World, po policyOptions, o tasks.Options) (policy.Set, error) {
	files := po.policies
	if own := w.Getenv("MILLHAND_POLICY"); own != "" { // a flag adds to it
		files = slices.Concat([]string{own}, files)
	}
	if hasSystemPolicy() {
		files = slices.Concat([]string{systemPolicy}, files)
	}
	var set policy.Set
	for _, file := range files {
		p, err := tasks.LoadPolicy(ctx, file, o)
		if err != nil {
			return nil, fail(event.ExitUsage, "%w; nothing was run", err)
		}
		if !slices.ContainsFunc(set, func(other policy.Policy) bool { return other.Path == p.Path }) {
			set = append(set, p)
		}
	}
	if err := errors.Join(checkActors(w, set), checkFlagPaths(set, o.Dir, po.paths)); err != nil {
		return nil, err
	}
	if !po.untrusted {
		return set, nil
	}
	var most *permission.Profile
	if name := po.maxProfile; name != "" {
		p, err := tasks.LoadProfile(ctx, name, "", o)
		if err != nil {
			return nil, fail(event.ExitUsage, "--max-profile %s: %w; with --untrusted it is a preset or a file", name, err)
		}
		most = &p
	}
	return append(set, policy.ForStrangers(most)), nil
}

// hasSystemPolicy reports whether the machine has a policy, or something in its
// place that can't be looked at.
func hasSystemPolicy() bool {
	_, err := os.Lstat(systemPolicy)
	return !errors.Is(err, fs.ErrNotExist)
}

// checkPolicy reports the machine's policy to the doctor.
func checkPolicy(ctx context.Context, w World) check {
	c := check{Name: "policy", Status: checkOK, Found: "this machine has none (" + systemPolicy + ")"}
	if !hasSystemPolicy() {
		return c
	}
	c.Found = systemPolicy + " binds every run"
	if _, err := tasks.LoadPolicy(ctx, systemPolicy, tasks.Options{Dir: "/", Getenv: w.Getenv}); err != nil {
		c.Status, c.Found, c.Fix, c.exit = checkMissing, err.Error(), "correct the file: nothing is run as long as it can't be read", event.ExitFailed
	}
	return c
}

// checkActors refuses a run that somebody started whom a policy does not name. A
// run that was started again has two such people.
func checkActors(w World, set policy.Set) error {
	if !set.States(policy.Actors) {
		return nil
	}
	var actors []string
	for _, variable := range []string{"GITHUB_ACTOR", "GITHUB_TRIGGERING_ACTOR", "GITLAB_USER_LOGIN"} {
		if name := w.Getenv(variable); name != "" && !slices.Contains(actors, name) {
			actors = append(actors, name)
		}
	}
	if len(actors) == 0 {
		name := fmt.Sprint(os.Geteuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
		actors = []string{name}
	}
	for _, name := range actors {
		if by, refused := set.Refuses(policy.Actors, name); refused {
			return fail(event.ExitUsage, "%q may not start runs: not allowed by %s; nothing was run", name, by.By())
		}
	}
	return nil
}

// checkFlagPaths refuses the paths of a command line that are outside of what a
// policy allows.
func checkFlagPaths(set policy.Set, dir string, paths []flagPath) error {
	for _, p := range paths {
		if p.path == "" {
			continue
		}
		if by, refused := tasks.RefusedPath(set, dir, p.path); refused {
			return fail(event.ExitUsage, "%s: the path %q not allowed by %s; nothing was run", p.flag, p.path, by.By())
		}
	}
	return nil
}

// sandboxMode returns the mode that a policy leaves of the one that is asked for.
func sandboxMode(mode string, set policy.Set) (string, error) {
	at := set.RequiresSandbox()
	switch {
	case at == "" || mode == string(sandbox.Require):
		return mode, nil
	case mode == string(sandbox.Auto):
		return string(sandbox.Require), nil
	}
	return "", fail(event.ExitUsage, "--sandbox %s not allowed by sandbox (%s): it requires level A; nothing was run", mode, at)
}

// stateDir is where things are kept between runs that can't be re-created.
func stateDir(w World) (string, error) {
	for _, dir := range []struct{ env, below string }{{"XDG_STATE_HOME", "millhand"}, {"HOME", ".local/state/millhand"}} {
		if at := w.Getenv(dir.env); filepath.IsAbs(at) {
			return filepath.Join(at, dir.below), nil
		}
	}
	return "", fail(event.ExitUsage, "budget.day needs a directory to keep what runs cost: set HOME or XDG_STATE_HOME; nothing was run")
}

// days are a run's accounts, one for each policy that bounds what a day costs.
type days []*spend.Account

// openDays reserves money of the day for a run, and lowers its budget to what is
// left.
func openDays(ctx context.Context, w World, plan *tasks.Plan, run string) (days, error) {
	var all days
	for _, p := range plan.Policies {
		if p.Day.USD == 0 {
			continue
		}
		dir, err := stateDir(w)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		dir = filepath.Join(dir, "spend", outputsOf(p.Path))
		a, granted, err := spend.Open(ctx, dir, w.Now(), run, p.Day.USD, plan.Budget.CostUSD)
		if err != nil {
			exit := event.ExitUsage
			if spent := (*spend.Spent)(nil); errors.As(err, &spent) {
				exit = event.ExitBudget
			}
			all.close() //nolint:errcheck // the run does not begin
			return nil, fail(exit, "budget.day (%s): %w; nothing was run", p.Day.Source, err)
		}
		all, plan.Budget.CostUSD = append(all, a), granted
	}
	return all, nil
}

// set records what the run has spent.
func (d days) set(usd money.USD) {
	for _, a := range d {
		a.Set(usd)
	}
}

func (d days) close() error {
	var errs []error
	for _, a := range d {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}
