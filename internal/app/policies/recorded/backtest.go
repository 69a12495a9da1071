package recorded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tools"
)

// BacktestOptions are the runs whose calls are decided again, and the rules that decide.
type BacktestOptions struct {
	load.ProfileOptions
	Runs   []string // ids or directories
	Accept bool     // calls that are newly allowed are no failure
	JSON   bool
}

// Backtest decides every recorded call of runs again, by a profile and the policies, and prints what is decided otherwise. Its
// error has exit code 1 if a call that was denied is allowed now or can't be decided, unless that is accepted. It runs nothing.
func Backtest(ctx context.Context, w world.World, o BacktestOptions) error {
	profile, opts, err := load.Profile(ctx, w, o.ProfileOptions)
	if err != nil {
		return err
	}
	j, done, err := policies.NewJudge(w)
	if err != nil {
		return err
	}
	defer done()
	found := usage{runs: map[string]bool{}}
	for _, run := range o.Runs {
		if err := found.read(run); err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
	}
	again, err := newBacktest(w, j.Env, profile, &found)
	if err != nil {
		return fault.New(event.ExitInternal, "%w", err)
	}
	again.revokes = opts.Policies.AfterUntrusted()
	result, err := again.compare(ctx, &found)
	if err != nil {
		return err
	}
	if err := result.print(w.Out, o.JSON); err != nil {
		return err
	}
	if result.widens() && !o.Accept {
		return fault.Silent(event.ExitFailed)
	}
	return nil
}

// Verdict is how the decision on a call differs from the recorded one.
type Verdict string

// The verdicts, in the order in which they are printed.
const (
	NewlyAllowed Verdict = "newly allowed"
	MayBeAllowed Verdict = "denied, and can't be decided again"
	DeniedNow    Verdict = "denied now"
	Undecided    Verdict = "allowed, and can't be decided again"
)

func verdicts() []Verdict { return []Verdict{NewlyAllowed, MayBeAllowed, DeniedNow, Undecided} }

// Difference are the calls, or the connections of commands, that are decided otherwise by the same rules.
type Difference struct {
	Verdict Verdict `json:"verdict"`
	Now     string  `json:"now"` // the rule that decides now, and where it is defined; or why none can
	Was     string  `json:"was"` // the recorded one
	Calls   []Made  `json:"calls"`
}

// Made is one recorded call, or one connection.
type Made struct {
	Run     string `json:"run"` // the file of its events
	Job     string `json:"job"`
	Session string `json:"session,omitempty"`
	ID      string `json:"id,omitempty"`
	Tool    string `json:"tool"` // "network" for a connection
	Subject string `json:"subject"`
}

// Result is what a backtest found.
type Result struct {
	Profile     string       `json:"profile"`
	Runs        int          `json:"runs"`
	Jobs        int          `json:"jobs"`
	Decided     int          `json:"decided"`      // calls and connections
	NotByRules  int          `json:"not_by_rules"` // denied by a hook or the limits of an agent, which are no rules
	Differences []Difference `json:"differences"`
}

// widens reports whether something may be allowed that was denied.
func (r *Result) widens() bool {
	return slices.ContainsFunc(r.Differences, func(d Difference) bool { return d.Verdict == NewlyAllowed || d.Verdict == MayBeAllowed })
}

// backtest decides recorded calls by a profile.
type backtest struct {
	env      tools.Env
	getenv   func(string) string
	registry *tools.Registry
	revokes  []policy.AfterUntrusted                                 // by the policies
	networks []func(host string, port int, address netip.Addr) error // of an agent's commands and of setup: a record does not have whose a connection was
}

// newBacktest equips an environment with every tool that a recorded call may be of.
func newBacktest(w world.World, env tools.Env, p permission.Profile, found *usage) (*backtest, error) {
	env.Profile, env.ChildEnv = p, proc.ChildEnv(w.Getenv, p.Env)
	env.Batch, env.Languages, env.Search.Backend = true, &lsp.Servers{}, "json"
	env.Spawn = func(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
		return tools.SpawnResult{}, errors.New("a backtest runs no agents")
	}
	for _, name := range found.agents() {
		env.Agents = append(env.Agents, tools.Agent{Name: name})
	}
	registry, err := tools.For(&env)
	if err != nil {
		return nil, err
	}
	b := &backtest{env: env, getenv: w.Getenv, registry: registry}
	for _, of := range []permission.Profile{p, p.ForSetup(reach.Groups(), true)} {
		filter, err := confinement.NetworkFilter(of, false)
		if err != nil {
			return nil, fmt.Errorf("network of profile %s: %w", p.Name, err)
		}
		b.networks = append(b.networks, filter)
	}
	return b, nil
}

// envOf returns the environment of a job's calls. Its private directories have other names than when it ran.
func (b *backtest) envOf(job *jobUsage) tools.Env {
	env := b.env
	g := confinement.Env{Level: sandbox.Level(job.level), Dirs: confinement.Dirs{Workspace: env.Workspace.Dir(), Home: "/millhand/home", Tmp: "/millhand/tmp"}, Getenv: b.getenv}
	env.Commands.Scratch = g.Expected()
	if home := env.Commands.Scratch.Home; home != "" {
		env.ChildEnv = proc.Set(env.ChildEnv, "HOME", home)
	}
	return env
}

// agents returns the names of the agents that calls started.
func (u *usage) agents() []string {
	names := map[string]bool{}
	for _, job := range u.jobs {
		for _, c := range job.calls {
			if name := c.starts(); name != "" {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// agents returns the names of the agents of the sessions that calls of a job started.
func (j *jobUsage) agents() map[string]string {
	names := map[string]string{}
	for _, c := range j.calls {
		if c.Metadata != nil && c.Metadata.ChildSession != "" {
			names[c.Metadata.ChildSession] = c.starts()
		}
	}
	return names
}

// starts returns the name of the agent that a call starts; "" for other calls.
func (c usedCall) starts() string {
	var input struct {
		Subagent string `json:"subagent_type"`
	}
	if permission.ForTool(strings.ToLower(c.Tool)) != "task" || json.Unmarshal(c.input, &input) != nil {
		return ""
	}
	return input.Subagent
}

// compare decides every call and connection again.
func (b *backtest) compare(ctx context.Context, found *usage) (*Result, error) {
	r := &Result{Profile: b.env.Profile.Name, Runs: len(found.runs), Jobs: len(found.jobs), Differences: []Difference{}}
	at := map[[3]string]int{} // in Differences, by verdict and rules
	add := func(v Verdict, now, was string, m Made) {
		key := [3]string{string(v), now, was}
		i, ok := at[key]
		if !ok {
			i = len(r.Differences)
			at[key] = i
			r.Differences = append(r.Differences, Difference{Verdict: v, Now: now, Was: was})
		}
		r.Differences[i].Calls = append(r.Differences[i].Calls, m)
	}
	for _, job := range found.jobs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		env, agents := b.envOf(job), job.agents()
		left := env
		if job.marked != nil {
			left.Profile = job.left(env.Profile, b.revokes)
		}
		for _, c := range job.calls {
			of := &env
			if c.after {
				of = &left
			}
			made := Made{Run: job.run, Job: job.id, Session: c.session, ID: c.ID, Tool: c.Tool}
			switch {
			case c.Decision == nil: // its arguments were invalid, or it was never decided
			case byOthers(c.Decision):
				r.NotByRules++
			default:
				r.Decided++
				var v Verdict
				var now string
				v, now, made.Subject = b.again(of, c, agents[c.session])
				if v != "" {
					add(v, now, ruleOf(c.Decision), made)
				}
			}
		}
		for _, n := range job.network {
			lost := n.after && !confinement.HasNetwork(left.Profile)
			if v, now := b.connects(n.Network, lost); v != "" {
				add(v, now, cmp.Or(n.Error, "the network of the profile"), Made{Run: job.run, Job: job.id, Tool: "network", Subject: fmt.Sprintf("%s:%d", n.Host, n.Port)})
			}
			r.Decided++
		}
	}
	order := verdicts()
	slices.SortStableFunc(r.Differences, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Verdict), slices.Index(order, y.Verdict)), cmp.Compare(len(y.Calls), len(x.Calls)), cmp.Compare(x.Now, y.Now))
	})
	return r, nil
}

// byOthers reports whether a denial is not the profile's: a hook's, or a limit of an agent.
func byOthers(d *event.Decision) bool {
	return d.Effect == permission.Deny.String() && (strings.HasPrefix(d.Rule, "hook ") || strings.HasPrefix(d.Source, "agent "))
}

func ruleOf(d *event.Decision) string { return fmt.Sprintf("%s (%s)", d.Rule, d.Source) }

// again decides a call of a session, whose agent is "" for the job's own, and returns how that differs from the record, by which rule, and what the call is about; "" for no difference.
func (b *backtest) again(env *tools.Env, c usedCall, agent string) (v Verdict, now, subject string) {
	was := c.Decision.Effect == permission.Allow.String()
	call := tools.Call{ID: c.ID, Name: c.Tool, Input: string(c.input)}
	needs, err := b.registry.NeedsOf(env, call)
	name := permission.ForTool(strings.ToLower(c.Tool))
	subject = subjectOf(c, needs)
	if env.Profile.Hides(name) { // as when it is dispatched: whatever its arguments are
		err, needs = nil, []permission.Request{permission.Need(name, "*")}
	}
	if err != nil {
		if was {
			return Undecided, err.Error(), subject
		}
		return MayBeAllowed, err.Error(), subject
	}
	d := env.Profile.DecideAll(needs)
	switch {
	case d.Allowed() && !was && agent != "":
		return MayBeAllowed, fmt.Sprintf("%s; limits of agent %s, which are not recorded, may deny it", d.By(), agent), subject
	case d.Allowed() && !was:
		return NewlyAllowed, d.By(), subject
	case !d.Allowed() && was:
		return DeniedNow, d.By(), subject
	}
	return "", "", subject
}

// subjectOf returns what a call is about.
func subjectOf(c usedCall, needs []permission.Request) string {
	var input struct{ Command string }
	if json.Unmarshal(c.input, &input) == nil && input.Command != "" {
		return input.Command
	}
	if len(needs) > 0 && needs[0].Subject() != "*" {
		return needs[0].Subject()
	}
	return string(c.input)
}

// connects decides a connection of a command, of a job that may have lost its network.
func (b *backtest) connects(n event.Network, lost bool) (v Verdict, now string) {
	address, _ := netip.ParseAddr(n.Addr) // invalid: only the name is decided
	refused := errors.New("the job has read untrusted content, and after_untrusted.network is deny")
	for _, allows := range b.networks {
		if lost {
			break
		}
		if refused = allows(n.Host, n.Port, address); refused == nil {
			break
		}
	}
	switch {
	case n.Denied && refused == nil:
		return NewlyAllowed, "the network of profile " + b.env.Profile.Name
	case !n.Denied && n.Error == "" && refused != nil:
		return DeniedNow, refused.Error()
	}
	return "", ""
}

const (
	mostShown = 5   // calls of a difference that are printed
	mostText  = 120 // bytes of what one is about
)

// print writes a result, as text or as JSON.
func (r *Result) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printable.WriteJSON(out, r)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s: %s decided again by profile %s\n", figures.Count(r.Runs, "run"), figures.Count(r.Jobs, "job"), figures.Count(r.Decided, "call"), r.Profile)
	if r.NotByRules > 0 {
		fmt.Fprintf(&text, "%s denied by hooks and agents, which are not decided again\n", figures.Count(r.NotByRules, "call"))
	}
	if len(r.Differences) == 0 {
		text.WriteString("no difference\n")
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&text, "\n%s: %s\n  now: %s\n  was: %s\n", d.Verdict, figures.Count(len(d.Calls), "call"), printable.Text(d.Now), printable.Text(d.Was))
		for _, m := range d.Calls[:min(len(d.Calls), mostShown)] {
			fmt.Fprintf(&text, "    %s %s  (job %s)\n", printable.Text(m.Tool), printable.Text(textcut.Head(textcut.OneLine(m.Subject), mostText, "...")), printable.Text(m.Job))
		}
		if more := len(d.Calls) - mostShown; more > 0 {
			fmt.Fprintf(&text, "    and %d more\n", more)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
