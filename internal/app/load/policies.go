package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// PolicyOptions are the options of a command line that concern policies, and its
// paths, which policies restrict.
type PolicyOptions struct {
	Dir        string   // that relative paths start from, absolute; "" for the directory of the world
	Policies   []string // files, in addition to the system policy
	Untrusted  bool
	MaxProfile string // "" for none
	Paths      []Path
}

// In returns the directory that relative paths start from; "" if it is unknown.
func (o PolicyOptions) In(w world.World) string { return cmp.Or(o.Dir, w.Dir) }

// Path is the path of a flag; "" if the flag is not set.
type Path struct{ Flag, Path string }

// checkUntrusted returns an error for an output that untrusted files could redirect: those below the
// directory may be of the author of the manifest.
func (p Path) checkUntrusted(dir string) error {
	rel, err := below(dir, p.Path)
	switch p.Flag {
	case "--output-file", "--record":
		if err == nil && rel == "" {
			err = fmt.Errorf("path %q is not below the current directory", p.Path)
		}
	case "--report-dir":
		if rel == "" {
			return err // a root of its own
		}
		rel = filepath.Join(rel, "events.jsonl")
	default:
		return nil // an input
	}
	if err != nil {
		return err
	}
	return checkBelow(dir, rel)
}

// PolicyField is the option --policy of all commands that policies apply to.
func (o *PolicyOptions) PolicyField(group string) option.Field {
	return option.Field{Name: "policy", Group: group, To: (*option.Texts)(&o.Policies), NoVar: true, Usage: "Enforce the policy in `FILE`, in addition to " + policy.System + " (repeatable)"}
}

// readPolicies returns the policies that apply to a command line: the system policy,
// those that it names, and with --untrusted the built-in one. An unreadable policy
// is an error.
func readPolicies(ctx context.Context, w world.World, po PolicyOptions, o tasks.Options) (policy.Set, error) {
	files := po.Policies
	if own := w.Getenv("MILLHAND_POLICY"); own != "" { // a flag adds to it
		files = slices.Concat([]string{own}, files)
	}
	if hasSystemPolicy() {
		files = slices.Concat([]string{policy.System}, files)
	}
	var set policy.Set
	for _, file := range files {
		p, err := manifest.LoadPolicy(ctx, file, o)
		if err != nil {
			return nil, fault.New(event.ExitUsage, "%w; nothing was run", err)
		}
		if !slices.ContainsFunc(set, func(other policy.Policy) bool { return other.Path == p.Path }) {
			set = append(set, p)
		}
	}
	if err := errors.Join(checkActors(w, set), checkFlagPaths(set, o.Dir, po)); err != nil {
		return nil, err
	}
	if !po.Untrusted {
		return set, nil
	}
	var most *permission.Profile
	if name := po.MaxProfile; name != "" {
		p, err := manifest.LoadProfile(ctx, name, "", o)
		if err != nil {
			return nil, fault.New(event.ExitUsage, "--max-profile %s: %w; with --untrusted it must be a preset or a file", name, err)
		}
		most = &p
	}
	return append(set, policy.ForUntrusted(most)), nil
}

// hasSystemPolicy reports whether the system policy exists, or can't be checked.
func hasSystemPolicy() bool {
	_, err := os.Lstat(policy.System)
	return !errors.Is(err, fs.ErrNotExist)
}

// checkActors refuses a run if a policy does not list everyone who started it. A
// re-run workflow has two actors.
func checkActors(w world.World, set policy.Set) error {
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
			return fault.New(event.ExitUsage, "user %q is not permitted to start runs: denied by %s", name, by.By())
		}
	}
	return nil
}

// checkFlagPaths refuses paths of flags that a policy or --untrusted does not allow.
func checkFlagPaths(set policy.Set, dir string, po PolicyOptions) error {
	for _, p := range po.Paths {
		if p.Path == "" {
			continue
		}
		if by, refused := form.RefusedPath(set, dir, p.Path); refused {
			return fault.New(event.ExitUsage, "%s: path %q not allowed by %s; nothing was run", p.Flag, p.Path, by.By())
		}
		if !po.Untrusted {
			continue
		}
		if err := p.checkUntrusted(dir); err != nil {
			return fault.New(event.ExitUsage, "%s: %w, which --untrusted does not allow; nothing was run", p.Flag, err)
		}
	}
	return nil
}
