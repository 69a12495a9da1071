package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/policies/recorded"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
)

type explainOptions struct {
	load.ProfileOptions
	tool, subject string
}

func policyCommand(w world.World) *cli.Command {
	explained, tested := &explainOptions{}, &load.Options{}
	return &cli.Command{
		Name: "policy", Usage: "Explain and test permission rules, and suggest a profile",
		Subcommands: []*cli.Command{
			{
				Name: "explain", Usage: "Print whether a tool call is allowed, and by which rule", ArgsUsage: "TOOL SUBJECT",
				UsageText: "millhand policy explain --profile build bash 'git push'",
				Flags:     flagsOf(explained.Fields("")),
				Action:    act(explained.parse, checks(func(ctx context.Context) error { return explain(ctx, w, *explained) })),
			},
			{
				Name: "test", Usage: "Test the policy examples of manifests", ArgsUsage: "[MANIFEST...]",
				Description: "Test the policy examples of manifests.\n" + load.OrUsual,
				UsageText:   "millhand policy test millhand.yaml",
				Action: act(func(args []string) error { return tested.Parse("policy test", args) }, checks(func(ctx context.Context) error {
					return testPolicy(ctx, w, *tested)
				})),
			},
			suggestCommand(w),
		},
	}
}

func testPolicy(ctx context.Context, w world.World, o load.Options) error {
	plan, err := load.Plan(ctx, w, o)
	if err != nil {
		return err
	}
	if err := policies.CheckExamples(w, plan); err != nil {
		return err
	}
	n := 0
	for _, p := range plan.Profiles {
		n += len(p.Examples)
	}
	fmt.Fprintf(w.Out, "%s passed\n", figures.Count(n, "example"))
	return nil
}

func (o *explainOptions) parse(args []string) error {
	if len(args) != 2 {
		return errors.New("policy explain requires a tool and its subject: millhand policy explain --profile build bash 'git push'")
	}
	if o.Profile == "" {
		return fmt.Errorf("policy explain requires --profile: %s, or a profile of --manifest", strings.Join(permission.Presets(), ", "))
	}
	o.tool, o.subject = args[0], args[1]
	return nil
}

func explain(ctx context.Context, w world.World, o explainOptions) error {
	profile, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	j, done, err := policies.NewJudge(w)
	if err != nil {
		return err
	}
	defer done()
	decisions, err := j.All(profile, o.tool, o.subject)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	d := policies.Overall(decisions)
	by := d.By()
	if d.NoRule {
		by = d.Because()
	}
	fmt.Fprintln(w.Out, d.Effect)
	if kernel := kernelHides(ctx, w, profile, decisions); kernel != "" {
		fmt.Fprintln(w.Out, "kernel: "+kernel)
	}
	fmt.Fprintln(w.Out, printable.Text(by))
	for _, each := range decisions {
		fmt.Fprintf(w.Out, "  %-5s  %s\n", each.Effect, printable.Text(each.Because()))
	}
	if d.Nearest != "" {
		fmt.Fprintf(w.Out, "allowed instead: %s\n", printable.Text(d.Nearest))
	}
	if !d.Allowed() {
		return fault.Silent(event.ExitPolicy)
	}
	return nil
}

// kernelHides describes which of the paths outside of the workspace that rules allow are nevertheless
// hidden on this machine, because other users can't read them; "" for none. It decides nothing: the
// rules' examples have to mean the same on every machine.
func kernelHides(ctx context.Context, w world.World, p permission.Profile, decisions []permission.Decision) string {
	private := sandbox.NewPrivate(w.System...)
	var hidden []string
	for _, d := range decisions {
		if kind := d.Request.Permission; !d.Allowed() || kind != permission.ExternalRead && kind != permission.ExternalDirectory {
			continue
		}
		path := d.Request.Subject()
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		for _, p := range confinement.Concealed(p, private) {
			if pathtree.Within(path, p) {
				hidden = append(hidden, describeHidden(path, p))
			}
		}
	}
	if len(hidden) == 0 || !confining(sandbox.Probe(ctx, "").Best) {
		return ""
	}
	slices.Sort(hidden)
	return strings.Join(slices.Compact(hidden), "; ")
}

// confining reports whether a level hides files.
func confining(l sandbox.Level) bool { return l == sandbox.Full || l == sandbox.Partial }

// describeHidden returns why a path is hidden: its own mode and owner, or those of a directory that
// it is in.
func describeHidden(path, private string) string {
	info, err := os.Lstat(private)
	if err != nil {
		return "hidden here"
	}
	text := fmt.Sprintf("%04o", info.Mode().Perm())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		name := strconv.FormatUint(uint64(st.Uid), 10)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		text += ", " + name
	}
	if path != private {
		text = "in " + private + ": " + text
	}
	return printable.Text("hidden here (" + text + ")")
}

func suggestCommand(w world.World) *cli.Command {
	o := &recorded.Options{}
	return &cli.Command{
		Name: "suggest", Usage: "Print the least profile that allows what saved runs used", ArgsUsage: "RUN...",
		Description: "Prints a profile that allows the calls of the jobs that passed, as the key profiles of a manifest. Comments count the calls of each rule, and list what was denied. Rules for risky calls are comments. Nothing is applied.",
		UsageText:   "millhand policy suggest .millhand/runs/20260102-030405-1a2b3c4d >suggested.yaml",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Destination: &o.All, EnvVars: noVariable(), Usage: "Include jobs that did not pass"}},
		Action:      act(func(args []string) error { return parseSuggest(o, args) }, func(context.Context) error { return recorded.Suggest(w, *o) }),
	}
}

func parseSuggest(o *recorded.Options, args []string) error {
	if len(args) == 0 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.Runs = args
	return nil
}
