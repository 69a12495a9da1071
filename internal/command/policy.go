package command

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/internal/workspace"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// judge decides calls that are told by their subject, with the current
// directory as the workspace.
type judge struct {
	env tools.Env
}

// newJudge opens the current directory; done releases it.
func newJudge(w World) (j *judge, done func(), err error) {
	space, err := workspace.Open(".")
	if err != nil {
		return nil, nil, fail(event.ExitUsage, "%w", err)
	}
	return &judge{tools.Env{Workspace: space, ChildEnv: proc.ChildEnv(w.Getenv, nil)}}, func() { space.Close() }, nil
}

// all decides every need of a call under a profile.
func (j *judge) all(p permission.Profile, tool, subject string) ([]permission.Decision, error) {
	env := j.env
	env.Profile = p
	return tools.Decide(&env, tool, subject)
}

// decide returns a function that decides calls as a whole under a profile.
func (j *judge) decide(p permission.Profile) func(tool, subject string) permission.Decision {
	return func(tool, subject string) permission.Decision {
		decisions, err := j.all(p, tool, subject)
		if err != nil {
			return permission.Decision{Request: permission.Need(tool, subject), Rule: err.Error(), Words: true, Source: "built in"}
		}
		return overall(decisions)
	}
}

// overall is the decision on a call: the first denial, or else the last one that
// a rule made.
func overall(decisions []permission.Decision) permission.Decision {
	last := permission.Decision{Effect: permission.Allow, Rule: "nothing to decide", Words: true, Source: "built in"}
	for _, d := range decisions {
		switch {
		case !d.Allowed():
			return d
		case !d.Words || last.Words:
			last = d
		}
	}
	return last
}

func policyCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "explains and tests permission rules",
		Subcommands: []*cli.Command{
			{
				Name: "explain", Usage: "says what a profile decides of a call, and by which rule", ArgsUsage: "TOOL SUBJECT",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "profile", Usage: "a preset, a profile of --manifest, or a file"},
					&cli.StringFlag{Name: "manifest", Usage: "manifest that defines the profile"},
				},
				Action: func(c *cli.Context) error { return explain(c, w) },
			},
			{
				Name: "test", Usage: "tests the policy examples of manifests", ArgsUsage: "MANIFEST...",
				Action: func(c *cli.Context) error {
					plan, err := loadPlan(c, w)
					if err != nil {
						return err
					}
					if err := testExamples(c.Context, w, plan); err != nil {
						return err
					}
					n := 0
					for _, p := range plan.Profiles {
						n += len(p.Examples)
					}
					fmt.Fprintf(w.Out, "%s hold\n", view.Plural(n, "example"))
					return nil
				},
			},
		},
	}
}

func explain(c *cli.Context, w World) error {
	if c.NArg() != 2 {
		return fail(event.ExitUsage, "policy explain wants a tool and its subject: millhand policy explain --profile build bash 'git push'")
	}
	if c.String("profile") == "" {
		return fail(event.ExitUsage, "policy explain wants --profile: one of %v, or a profile of --manifest", permission.Presets())
	}
	profile, err := loadProfile(c, w)
	if err != nil {
		return err
	}
	j, done, err := newJudge(w)
	if err != nil {
		return err
	}
	defer done()
	decisions, err := j.all(profile, c.Args().Get(0), c.Args().Get(1))
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	d := overall(decisions)
	by := d.By()
	if d.Words {
		by = d.Because("")
	}
	fmt.Fprintf(w.Out, "%s\n%s\n", d.Effect, printable.Text(by))
	for _, each := range decisions {
		fmt.Fprintf(w.Out, "  %-5s  %s\n", each.Effect, printable.Text(each.Because("")))
	}
	if d.Nearest != "" {
		fmt.Fprintf(w.Out, "allowed instead: %s\n", printable.Text(d.Nearest))
	}
	if !d.Allowed() {
		return exitWith(event.ExitPolicy)
	}
	return nil
}

// loadProfile loads the profile that --profile and --manifest name; without
// --profile, the preset full.
func loadProfile(c *cli.Context, w World) (permission.Profile, error) {
	name := c.String("profile")
	if name == "" {
		name = "full"
	}
	dir, err := os.Getwd()
	if err != nil {
		return permission.Profile{}, fail(event.ExitUsage, "find the current directory: %w", err)
	}
	p, err := tasks.LoadProfile(c.Context, name, c.String("manifest"), tasks.Options{Dir: dir, Getenv: w.Getenv})
	if err != nil {
		return p, failure{event.ExitUsage, err}
	}
	return p, nil
}
