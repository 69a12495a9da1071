package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/untrusted"
)

// trust is what a job knows of the untrusted content that its sessions read, and what it still may do.
type trust struct {
	Untrusted *untrusted.Job      // nil for a task without after_untrusted
	network   *confinement.Switch // of all of its programs; nil if it can't be lost
	withheld  string              // why less is published than the task asks for; "" for nothing
	before    *untrusted.Mark     // because of which the job starts without the rights; nil for none
	tree      string              // of the user, that the job changes without a worktree; "" before it is locked, and for none
}

// watchUntrusted prepares what the job loses when a session reads untrusted content. What earlier processes of
// the same conversation have read still counts.
func (j *Job) watchUntrusted() {
	a := j.Spec.AfterUntrusted
	if a == nil {
		return
	}
	limits := untrusted.Limits{Network: a.Network, MCP: a.MCP, Bash: a.Bash == tasks.BashNone, Source: a.Source}
	for _, s := range j.Plan.MCP {
		if limits.Servers = append(limits.Servers, s.Name); s.Remote != nil {
			limits.Remote = append(limits.Remote, s.Name)
		}
	}
	j.Untrusted = &untrusted.Job{Limits: limits, Files: j.Spec.Untrusted, Marked: j.Marked}
	if a.Network {
		j.network = confinement.NewSwitch()
	}
	if m, found := j.readBefore(); found {
		j.inherit(m)
	}
}

// readBefore returns what earlier processes have read in the conversation that this one continues, or whose commits it changes.
func (j *Job) readBefore() (m untrusted.Mark, found bool) {
	past := j.History.Facts
	if _, starts := j.History.Intent.(history.Start); past == nil || starts {
		return m, false
	}
	u, session := (*event.Untrusted)(nil), ""
	switch {
	case past.Untrusted != nil:
		u, session = past.Untrusted.Untrusted, past.Untrusted.Session
	case past.Fork != nil && past.Fork.Untrusted != nil:
		u, session = past.Fork.Untrusted, j.SessionID(j.Spec.ID)
	case past.Unwatched(j.Spec.Untrusted):
		return untrusted.Mark{Session: j.SessionID(j.Spec.ID), Why: "earlier conversation, of which nothing is known"}, true
	default:
		return m, false
	}
	return untrusted.Mark{Session: session, Call: u.Call, Tool: u.Tool, Turn: u.Turn, Why: u.What}, true
}

// Marked revokes the rights that a mark costs the job.
func (j *Job) Marked(m untrusted.Mark) {
	j.closeNetwork(m)
	j.noteFiles()
	j.reportMark(m)
}

func (j *Job) reportMark(m untrusted.Mark) {
	a, l := j.Spec.AfterUntrusted, j.Untrusted.Limits
	u := event.Untrusted{Turn: m.Turn, Call: m.Call, Tool: m.Tool, What: m.Why, Publish: string(a.Publish)}
	u.Revoked = &event.Revoked{Network: a.Network, NoMCP: a.MCP, Bash: string(a.Bash), Servers: l.Servers, Remote: l.Remote, Source: a.Source}
	j.opts.Emit(event.Event{Type: event.UntrustedRead, Job: j.Spec.ID, Session: m.Session, Untrusted: &u})
}

// closeNetwork ends the network of all programs of the job.
func (t *trust) closeNetwork(m untrusted.Mark) {
	if t.network != nil {
		t.network.Off(fmt.Errorf("the job has read untrusted content (%s), and after_untrusted.network is deny", m.Why))
	}
}

// MarkStart marks a job whose prompt is untrusted. One that was marked before its first session, because of its files or because it
// continues a marked one, reports that.
func (j *Job) MarkStart() {
	if j.Untrusted == nil {
		return
	}
	m := untrusted.Mark{Session: j.SessionID(j.Spec.ID)}
	switch {
	case j.before != nil:
		j.reportMark(*j.before)
		return
	case j.Spec.FromEvent != "":
		m.Why = j.Spec.FromEvent + " in the prompt"
	case j.Spec.Context != nil:
		m.Why = "context of the issue or pull request in the prompt"
	case j.History.Foreign():
		m.Why = "comments, logs or conflicts of the pull request in the prompt"
	default:
		return
	}
	j.Untrusted.Mark(m)
}

// LimitPublishing limits what is published of a marked job.
func (j *Job) LimitPublishing() {
	a := j.Spec.AfterUntrusted
	if !j.Untrusted.Is() || !a.Limits(&j.Spec) {
		return
	}
	wanted := "publish.mode " + string(j.Spec.Publish)
	if j.Spec.Comment != nil {
		wanted += " with a comment"
	}
	if j.Spec.Requests.Made() {
		wanted += " with requests"
	}
	j.Spec = a.Apply(j.Spec)
	j.withheld = fmt.Sprintf("the job has read untrusted content: %s is limited to %s (after_untrusted.publish, %s)", wanted, j.Spec.Publish, a.Source)
}

// Withheld returns why less is published than the task asks for; "" if nothing is withheld.
func (t *trust) Withheld() string { return t.withheld }

// CheckTrust returns the stop of a job whose programs could not lose their rights.
func (j *Job) CheckTrust() *ending.Stop {
	a, g := j.Spec.AfterUntrusted, confinement.Env{Level: j.opts.Level}
	if a == nil || !a.Network && a.Bash != tasks.BashReadonly || g.Confines() || !j.Plan.RunsCommands() {
		return nil
	}
	return &ending.Stop{Code: event.CodeDenied, Detail: fmt.Sprintf("after_untrusted (%s) removes rights of programs, which needs a sandbox of level A or B, and this machine or --sandbox has %s: use --sandbox auto or require, or remove network and bash from after_untrusted", a.Source, j.opts.Level)}
}

// Watched returns what the start of the job records of that; nil for a job that loses no right.
func (j *Job) Watched() *event.Watched {
	if j.Untrusted == nil {
		return nil
	}
	return &event.Watched{Files: j.Spec.Untrusted}
}

// Reaching returns a function that passes on the connections of commands, of which one that is not denied marks the job.
func (t *trust) Reaching(tell func(event.Network)) func(event.Network) {
	if t.Untrusted == nil {
		return tell
	}
	return func(n event.Network) {
		if !n.Denied {
			t.Untrusted.Reached(n.Host)
		}
		tell(n)
	}
}

// maxConcealed is the maximum number of untrusted files and directories that are hidden from commands.
const maxConcealed = 200

// errTooMany stops the search for untrusted files.
var errTooMany = errors.New("too many untrusted files")

// FindUntrusted finds the untrusted files that are in the workspace now. Until a session has read one, the sandbox hides them
// from its commands, if it can.
func (b *Sandboxes) FindUntrusted() {
	s, j := b.site, b.site.job
	switch {
	case !j.Untrusted.Armed() || len(j.Spec.Untrusted) == 0:
		return
	case !s.Usable(): // no command has run
		j.Untrusted.Found(true, false)
		return
	}
	found, err := j.filesIn(s.Space.Dir())
	hidden := err == nil && j.opts.Level == sandbox.Full
	j.Untrusted.Found(err != nil || len(found) > 0, hidden)
	if !hidden {
		found = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.concealed = found
}

// filesIn returns the untrusted files and directories in a directory.
func (t *trust) filesIn(root string) (found []string, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && rel != ".": // removed meanwhile
			return nil
		case err != nil:
			return err
		case rel == ".":
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case t.Untrusted.Matches(filepath.ToSlash(rel)):
			if found = append(found, name); len(found) > maxConcealed {
				return errTooMany
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	return found, err
}

// Confined returns what confines the commands of a session, whose sandbox is that of Of: of a task with after_untrusted, one
// for what the job may do when a command starts.
func (b *Sandboxes) Confined(box *confinement.Confinement, narrowed string, p permission.Profile, granted bool) proc.Confine {
	of := func(box *confinement.Confinement) proc.Confine {
		if granted {
			return box.Confine()
		}
		return box.ConfineSeries()
	}
	confine := of(box)
	if b.site.job.Untrusted == nil || confine == nil {
		return confine
	}
	return func(args, env []string, dir string) (*proc.Confined, error) {
		box, err := b.Of(context.Background(), narrowed, p, granted) // it lives as long as the job
		if err != nil {
			return nil, err
		}
		return of(box)(args, env, dir)
	}
}

// ReadOutput marks the job if what a program of the manifest has printed can be untrusted, and is shown in a prompt.
func (b *Sandboxes) ReadOutput(program string, shown bool) {
	j := b.site.job
	if shown {
		b.FindUntrusted()
	}
	j.Read(j.Untrusted.OfOutput(program, shown))
}

// Noting returns what plugins change of a session, such as a prompt, as one that marks the job if they have changed it: they can have
// read untrusted content.
func Noting[T any](b *Sandboxes, change func(context.Context, T) T) func(context.Context, T) T {
	j := b.site.job
	if change == nil || j.Untrusted == nil {
		return change
	}
	return func(ctx context.Context, was T) T {
		made := change(ctx, was)
		if j.Untrusted.Armed() {
			b.ReadOutput("plugin", !reflect.DeepEqual(made, was))
		}
		return made
	}
}

// ReadNotes marks the job if one of the repository's files that sessions start with is untrusted, given by its name relative to the
// workspace.
func (j *Job) ReadNotes(names ...string) {
	for _, name := range names {
		if j.Untrusted.Matches(name) {
			j.Read("untrusted instructions " + name)
		}
	}
}

// Read marks the job with what none of its calls has read; an empty reason does nothing.
func (j *Job) Read(why string) {
	if j.Untrusted != nil {
		(untrusted.Reader{Job: j.Untrusted, Session: j.SessionID(j.Spec.ID)}).Read("", "", why)
	}
}
