package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/review"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/websearch"
)

// sessionSpec returns the spec of the reviewer's session: with at most the profile of the job's agent, and no tool that
// changes anything.
func (r *reviews) sessionSpec() sessionSpec {
	j := r.work.job
	only, _ := permission.Preset("readonly")
	main := j.ownSpec()
	s := sessionSpec{task: j.Spec.WithProfile(main.task.Profile.Under(only)), narrowed: main.narrowed + "review ", parent: j.SessionID(j.Spec.ID), name: r.name()}
	s.take(agentOf(j.Plan, r.spec.Agent))
	if r.spec.Model.ID != "" {
		s.task = s.task.WithModel(r.spec.Model)
	}
	s.task = s.task.WithAtMost(reviewTurns, reviewDenials)
	return s
}

// open opens the session of the reviewer; from is where an earlier process ended, nil for a new session. It has neither
// extensions nor their hooks, and its instructions and skills are those of the base.
func (r *reviews) open(ctx context.Context, from *continuation) (*open, error) {
	w, s := r.work, r.sessionSpec()
	o := &open{spec: s, last: session.End{Code: event.CodePanic}} // if it does not return
	notices := opened.Notices{Retry: func(n event.Retry) { w.job.retried(o, n) }, Pause: func() func() { return w.job.TimeLimit.Pause() }}
	var err error
	if o.talk, err = w.job.run.equipment.OpenModel(s.task, s.child(), notices); err != nil {
		return nil, err
	}
	s.speaks = cmp.Or(o.talk.As, s.task.Model)
	env, err := w.toolEnv(ctx, s)
	if err != nil {
		return nil, err
	}
	env.Notes, env.Languages, env.Search = nil, nil, websearch.Config{}
	env.Hooks = site.JobHooks{Site: w.site}.Watched(w.site.Hooks.Around(w.job.SessionID(s.name), s.task.Agent))
	if env.Skills, err = r.skills(); err != nil {
		return nil, err
	}
	offer, err := tools.For(env)
	if err != nil {
		return nil, err
	}
	if o.transcript, err = w.job.openTranscript(s.name); err != nil {
		return nil, err
	}
	window, output := w.job.run.equipment.window(s)
	own := w.job.instructions(w.site)
	in := own.Input(s.instructed(w.job, env), own.At(r.base(), s.task.Profile))
	o.Session = session.New(session.Config{
		ID: w.job.SessionID(s.name), Job: w.job.Spec.ID, Agent: s.task.Agent, Parent: s.parent,
		Model: o.talk.Model, ModelName: s.task.ModelName, System: prompt.System(in), Tools: offer, Env: env,
		Limits: sessionLimits(s.task.Limits), JobLimits: w.limits, Budget: r.budget.Session(s.task.Model, o.talk.Quotes),
		Sampling: model.Sampling(s.task.Sampling), Window: window, MaxOutput: output, Schema: review.Schema(),
		Journal: journal.NewWriter(o.transcript, w.job.opts.Now, w.job.opts.Redact.JSON, func(err error) {
			w.job.Warn(fmt.Sprintf("transcript incomplete: %v", err))
		}),
		FirstTurn: w.firstTurn(s, from), Emit: w.job.opts.Emit, Now: w.job.opts.Now,
	})
	if from != nil {
		o.Resume(from.state, from.totals, from.ended)
		o.talk.Finish = nil // an earlier process has used turns
	}
	w.sessions.add(o)
	return o, nil
}

// base returns the commit that the job started from before any model has changed anything.
func (r *reviews) base() string {
	if past := r.work.job.History.Facts; past != nil && past.First != "" {
		return past.First
	}
	return r.work.site.Base
}

const (
	maxSkillFiles = 1000
	maxSkillBytes = 16 << 20 // of all skills
)

// skills returns the skills of the base, which it writes to a private directory, and those of the manifest.
func (r *reviews) skills() (skill.Set, error) {
	w := r.work
	to := filepath.Join(w.job.opts.Work, "review", w.job.Spec.ID)
	var dirs, found []string
	for _, dir := range skill.Dirs() {
		at := path.Join(w.site.Below, dir)
		if has, err := w.site.Tree.HasDir(r.base(), at); err != nil {
			return skill.Set{}, err
		} else if has {
			dirs, found = append(dirs, at+"/"), append(found, filepath.Join(to, filepath.FromSlash(at)))
		}
	}
	if len(dirs) > 0 {
		if err := r.writeBase(to, dirs); err != nil {
			return skill.Set{}, fmt.Errorf("read the skills of the base: %w", err)
		}
	}
	return skill.Find(nil, slices.Concat(found, w.job.Plan.Skills)), nil
}

// writeBase writes the files of the base below some directories.
func (r *reviews) writeBase(to string, dirs []string) error {
	tree := r.work.site.Tree
	all, err := tree.SnapshotOf(r.base())
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(to), confinement.MakePrivate(to)); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	number, bytes := 0, 0
	for name := range all.ByPath() {
		if !slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		text, err := tree.File(r.base(), name)
		if errors.Is(err, fs.ErrNotExist) { // a symlink
			continue
		}
		if number, bytes = number+1, bytes+len(text); err != nil || number > maxSkillFiles || bytes > maxSkillBytes {
			return cmp.Or(err, errors.New("they are too large"))
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
