package policies

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/untrusted"
)

// Test tests the examples of the policies of manifests, and prints how many there are.
func Test(ctx context.Context, w world.World, o load.Options) error {
	plan, err := load.Plan(ctx, w, o)
	if err != nil {
		return err
	}
	if err := CheckExamples(w, plan); err != nil {
		return err
	}
	n := 0
	for _, p := range plan.Profiles {
		n += len(p.Examples)
	}
	fmt.Fprintf(w.Out, "%s passed\n", figures.Count(n, "example"))
	return nil
}

// ExplainOptions are a call that is explained.
type ExplainOptions struct {
	load.ProfileOptions
	Tool, Subject string
}

// Explain prints whether a call is allowed, and by which rule. Its error has the exit code of a denial.
func Explain(ctx context.Context, w world.World, o ExplainOptions) error {
	profile, opts, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	j, done, err := NewJudge(w)
	if err != nil {
		return err
	}
	defer done()
	decisions, err := j.All(profile, o.Tool, o.Subject)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	d := Overall(decisions)
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
	if after := (tasks.Job{}).AtLeast(opts.Policies.AfterUntrusted()).AfterUntrusted; after != nil && d.Allowed() {
		if err := explainAfterUntrusted(w, o, j, profile, after); err != nil {
			return err
		}
	}
	if d.Nearest != "" {
		fmt.Fprintf(w.Out, "allowed instead: %s\n", printable.Text(d.Nearest))
	}
	if !d.Allowed() {
		return fault.Silent(event.ExitPolicy)
	}
	return nil
}

// explainAfterUntrusted prints the decision on a call for jobs that have read untrusted content, which revokes rights.
func explainAfterUntrusted(w world.World, o ExplainOptions, j *Judge, p permission.Profile, after *tasks.AfterUntrusted) error {
	read := untrusted.Job{Limits: untrusted.Limits{Network: after.Network, Bash: after.Bash == tasks.BashNone, Source: after.Source}}
	then, err := j.All(read.Left(p), o.Tool, o.Subject)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	fmt.Fprintf(w.Out, "after untrusted content: %s; after_untrusted: %s\n", Overall(then).Effect, printable.Text(after.String()))
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
	if len(hidden) == 0 || !hides(sandbox.Probe(ctx, "").Best) {
		return ""
	}
	slices.Sort(hidden)
	return strings.Join(slices.Compact(hidden), "; ")
}

// hides reports whether a level hides files.
func hides(l sandbox.Level) bool { return l == sandbox.Full || l == sandbox.Partial }

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
