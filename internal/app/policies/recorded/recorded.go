package recorded

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/suggest"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/untrusted"
)

// Options select the runs of a suggestion.
type Options struct {
	Runs []string // ids or directories
	All  bool     // also jobs that did not pass
}

// Suggest prints the least profile that allows what the jobs of runs used.
func Suggest(w world.World, o Options) error {
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
	record, jobs, err := record(j, &found, o.All)
	if err != nil {
		return err
	}
	s := suggest.From(record, func(p permission.Profile, e permission.Example) bool {
		return j.Decide(p)(e.Tool, e.Subject).Effect == e.Effect
	})
	which := "that passed"
	if o.All {
		which = "of any outcome"
	}
	count := 0
	for _, c := range record.Used {
		count += c.Count
	}
	about := fmt.Sprintf("%s: %s %s, %s", figures.Count(len(found.runs), "run"), figures.Count(jobs, "job"), which, figures.Count(count, "call"))
	if jobs == 0 {
		return fault.New(event.ExitUsage, "no job of the runs passed: --all includes the others")
	}
	return s.YAML(w.Out, about)
}

// usage is what the events of runs contain about calls and connections.
type usage struct {
	runs map[string]bool // by the file of their events
	jobs []*jobUsage
}

type jobUsage struct {
	run, id   string
	workspace string
	level     string // of its sandbox
	passed    bool
	calls     []usedCall
	at        map[string]int // of a call in calls, by its session and id
	network   []connection
	marked    *event.Event // what it has read first of untrusted content; nil for nothing
	early     bool         // the call that has marked it did so before it ran: it needs the rights that are left
}

// connection is one of a command.
type connection struct {
	event.Network
	after bool // the job had lost rights
}

// usedCall is the last state of a call, with paths relative to the workspace.
type usedCall struct {
	event.Call
	session string
	input   json.RawMessage
	after   bool // the job had lost rights when it was decided
}

// read adds the events of a run.
func (u *usage) read(run string) error {
	file, err := savedrun.OpenEvents(run)
	if err != nil {
		return err
	}
	defer file.Close()
	if u.runs[file.Name()] {
		return nil
	}
	u.runs[file.Name()] = true
	_, err = event.Read(file, func(e event.Event) error {
		if e.Job != "" {
			u.job(file.Name(), e.Job).add(e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	return nil
}

// job returns a job of a run.
func (u *usage) job(run, id string) *jobUsage {
	for _, j := range slices.Backward(u.jobs) {
		if j.run == run && j.id == id {
			return j
		}
	}
	j := &jobUsage{run: run, id: id, at: map[string]int{}}
	u.jobs = append(u.jobs, j)
	return j
}

func (j *jobUsage) add(e event.Event) {
	if add, ok := usages.Find(&e); ok {
		add(j, e)
	}
}

var usages = event.Walk[func(*jobUsage, event.Event)]{
	On: map[event.Type]func(*jobUsage, event.Event){
		event.JobStarted: func(j *jobUsage, e event.Event) {
			j.workspace, j.level = e.JobStart.Workspace, e.JobStart.Sandbox.Level
		},
		event.JobEnded: func(j *jobUsage, e event.Event) { j.passed = e.JobEnd.Outcome == event.Passed },
		event.NetworkRequested: func(j *jobUsage, e event.Event) {
			j.network = append(j.network, connection{*e.Network, j.marked != nil})
		},
		event.UntrustedRead: func(j *jobUsage, e event.Event) {
			i, known := j.at[e.Session+"\x00"+e.Untrusted.Call]
			j.marked, j.early = &e, known && j.calls[i].Status == event.CallPending
		},
		event.CallUpdated: (*jobUsage).call,
	},
	Ignores: []event.Type{
		event.RunStarted, event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded, event.ScriptEnded,
		event.SessionStarted, event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.TurnStarted, event.ModelText, event.RequestRetried,
		event.TurnEnded, event.Pruned, event.Compacted, event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted,
		event.PublishStarted, event.CommentStarted, event.ForgeRequestStarted, event.ExtensionChanged, event.RevertStarted, event.WarningIssued,
		event.RunEnded, event.Sealed, event.AblationStarted, event.TrialEnded, event.AblationEnded, event.CommentPosted, event.ForgeRequestEnded,
		event.Committed, event.CommitPublished, event.PullRequestStarted, event.Reverted,
	},
}

// call adds a call, or its next state.
func (j *jobUsage) call(e event.Event) {
	key := e.Session + "\x00" + e.Call.ID
	i, ok := j.at[key]
	if !ok {
		i = len(j.calls)
		j.at[key] = i
		j.calls = append(j.calls, usedCall{})
	}
	after := j.calls[i].after
	if j.calls[i].Decision == nil { // it was decided only now
		after = j.marked != nil && (j.early || !j.marks(e))
	}
	j.calls[i] = usedCall{*e.Call, e.Session, relative(e.Call.Input, j.workspace), after}
}

// marks reports whether a call has marked the job.
func (j *jobUsage) marks(e event.Event) bool {
	return j.marked.Session == e.Session && j.marked.Untrusted.Call == e.Call.ID
}

// left returns what a profile still allows the job.
func (j *jobUsage) left(p permission.Profile, least []policy.AfterUntrusted) permission.Profile {
	var own tasks.AfterUntrusted
	var limits untrusted.Limits
	if r := j.marked.Untrusted.Revoked; r != nil {
		own = tasks.AfterUntrusted{Network: r.Network, MCP: r.NoMCP, Bash: tasks.BashLimit(r.Bash), Source: r.Source}
		limits.Servers, limits.Remote = r.Servers, r.Remote
	}
	all := tasks.Job{AfterUntrusted: &own}.AtLeast(least).AfterUntrusted
	limits.Network, limits.MCP, limits.Bash, limits.Source = all.Network, all.MCP, all.Bash == tasks.BashNone, all.Source
	read := untrusted.Job{Limits: limits}
	return read.Left(p)
}

// relative returns arguments with the paths in a workspace relative to it: the worktree of a
// job is removed, and the rules of a profile are for all jobs.
func relative(input json.RawMessage, workspace string) json.RawMessage {
	if workspace == "" || workspace == "/" || !bytes.Contains(input, []byte(workspace)) {
		return input
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return input
	}
	out, err := json.Marshal(relativeValue(value, workspace))
	if err != nil {
		return input
	}
	return out
}

func relativeValue(v any, workspace string) any {
	switch v := v.(type) {
	case string:
		return relativeText(v, workspace)
	case []any:
		for i := range v {
			v[i] = relativeValue(v[i], workspace)
		}
	case map[string]any:
		for name := range v {
			v[name] = relativeValue(v[name], workspace)
		}
	}
	return v
}

// relativeText replaces the workspace's path where it is the start of a path.
func relativeText(s, workspace string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, workspace)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		starts := before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n\"'=:(,;&|<>")
		switch {
		case starts && len(after) > 1 && after[0] == '/' && !strings.ContainsAny(after[1:2], " \t\n\"'/"):
			after = after[1:]
		case starts && (after == "" || strings.ContainsAny(after[:1], "/ \t\n\"':),;&|<>")):
			out.WriteByte('.')
		default:
			out.WriteString(workspace)
		}
		s = after
	}
}

// record returns what the calls of jobs need, and the number of jobs.
func record(j *policies.Judge, found *usage, all bool) (r suggest.Record, jobs int, err error) {
	registry, err := tools.For(&j.Env)
	if err != nil {
		return r, 0, fault.New(event.ExitInternal, "%w", err)
	}
	reached, refused := map[string]*suggest.Host{}, map[string]*suggest.Host{}
	for _, job := range found.jobs {
		accepted := all || job.passed
		if accepted {
			jobs++
		}
		for _, c := range job.calls {
			switch {
			case c.Status == event.CallCompleted && accepted:
				r.Used = append(r.Used, callOf(j, registry, c))
			case c.Status == event.CallDenied && c.Decision != nil && !strings.HasPrefix(c.Decision.Rule, "hook "):
				r.Denied = append(r.Denied, callOf(j, registry, c))
			}
		}
		for _, n := range job.network {
			switch {
			case n.Denied:
				count(refused, n.Network, n.Host)
			case accepted && n.Error == "":
				count(reached, n.Network, listed(n.Host, n.Port))
			}
		}
	}
	r.Reached, r.Refused = hosts(reached), hosts(refused)
	return r, jobs, nil
}

// callOf returns what a call needs.
func callOf(j *policies.Judge, registry *tools.Registry, c usedCall) suggest.Call {
	out := suggest.Call{Tool: c.Tool, Count: 1}
	if name := strings.ToLower(c.Tool); slices.Contains(permission.Tools(), name) {
		out.Tool = name
	}
	if c.Decision != nil {
		out.Rule, out.Source = c.Decision.Rule, c.Decision.Source
	}
	if c.Status == event.CallCompleted {
		out.Rule, out.Source = "", ""
	}
	var input struct{ URL, Command string }
	json.Unmarshal(c.input, &input) //nolint:errcheck // the tool checks its arguments
	env := j.Env
	env.Profile.Network = permission.Network{Allow: true}
	if u, err := url.Parse(input.URL); err == nil && out.Tool == "webfetch" && c.Status == event.CallCompleted && u.Host != "" {
		port, _ := strconv.Atoi(u.Port()) // 0 without a port
		out.Host = listed(u.Hostname(), port)
		env.Profile.Network.Hosts = []string{out.Host}
	}
	permissionName := permission.ForTool(out.Tool)
	needs, err := registry.NeedsOf(&env, tools.Call{ID: c.ID, Name: c.Tool, Input: string(c.input)})
	if err != nil {
		needs = []permission.Request{permission.Need(permissionName, "*")}
		if slices.Contains([]string{"bash", "edit", "read"}, permissionName) {
			needs[0].Forbidden = "its arguments can't be read here: " + err.Error()
		}
	}
	out.Needs = needs
	for _, n := range needs {
		if n.Permission == permissionName && out.Tool != "apply_patch" {
			out.Subject = n.Subject()
		}
	}
	if out.Tool == "bash" {
		out.Subject = input.Command
	}
	return out
}

// listed returns a host as the network of a profile lists it: with a port only if that is
// unusual.
func listed(host string, port int) string {
	if port == 0 || port == 80 || port == 443 {
		return host
	}
	return suggest.WithPort(host, port)
}

func count(all map[string]*suggest.Host, n event.Network, name string) {
	key := suggest.WithPort(n.Host, n.Port)
	if all[key] == nil {
		all[key] = &suggest.Host{Name: name, Port: n.Port, Error: n.Error}
	}
	all[key].Count++
}

// hosts returns hosts by name.
func hosts(all map[string]*suggest.Host) []suggest.Host {
	out := make([]suggest.Host, 0, len(all))
	for _, h := range all {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b suggest.Host) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port))
	})
	return out
}
