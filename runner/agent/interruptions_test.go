package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// A signal ends the job wherever it is: nothing is asked of a model and no command runs after it.
func TestASignalEndsAJob(t *testing.T) {
	const done = "  - calls: [{tool: bash, args: {command: 'touch one'}}]\n  - text: done\n"
	fails := tasks.NewTaskScript("s.sh", []byte("touch one; exit 1"))
	for name, c := range map[string]struct {
		at      func(event.Event) bool
		set     func(*tasks.Job)
		inPlace bool
	}{
		"before its session": {at: first(event.JobStarted)},
		"in its script":      {at: first(event.CommandStarted), set: func(j *tasks.Job) { j.Script = fails }},
		"after its script":   {at: first(event.ScriptEnded), set: func(j *tasks.Job) { j.Script = fails }},
		"in its script's verify": {at: first(event.VerifyEnded), set: func(j *tasks.Job) {
			j.Script, j.Verify = tasks.NewTaskScript("s.sh", []byte("touch one")), []tasks.Verify{checks("v", "true")}
		}},
		"with its first prompt": {at: first(event.AttemptStarted)},
		"in a call":             {at: inCall("r1/a", 1)},
		"in verify":             {at: first(event.VerifyEnded), set: func(j *tasks.Job) { j.Verify = []tasks.Verify{checks("v", "true"), checks("w", "true")} }},
		"after verify":          {at: first(event.VerifyEnded), set: func(j *tasks.Job) { j.Verify = []tasks.Verify{checks("v", "true")} }},
		"after a failed one":    {at: first(event.VerifyEnded), set: func(j *tasks.Job) { j.Verify, j.Attempts = []tasks.Verify{checks("v", "false")}, 2 }},
		"with limits of changes": {at: first(event.VerifyEnded), inPlace: true, set: func(j *tasks.Job) {
			j.Verify, j.Change = []tasks.Verify{checks("v", "true")}, tasks.Change{MaxFiles: 1}
		}},
		"in ablation": {at: first(event.AblationStarted), set: func(j *tasks.Job) {
			j.Verify, j.Ablate = []tasks.Verify{checks("v", "true")}, tasks.Ablate{Time: time.Minute, Jobs: 1}
		}},
		"before its review": {at: first(event.AblationEnded), set: func(j *tasks.Job) {
			j.Verify, j.Ablate, j.Review = []tasks.Verify{checks("v", "true")}, tasks.Ablate{Time: time.Minute, Jobs: 1}, &tasks.Review{Agent: tasks.DefaultReviewer}
		}},
		"in its review": {at: inCall("r1/a@review", 1), set: func(j *tasks.Job) { j.Review = &tasks.Review{Agent: tasks.DefaultReviewer} }},
		"before the next model": {at: first(event.VerifyEnded), set: func(j *tasks.Job) {
			j.Verify, j.Escalate, j.KeepBase = []tasks.Verify{checks("v", "false")}, []tasks.Model{{ID: "script:y"}}, true
		}},
		"with the next model": {at: first(event.ModelEscalated), set: func(j *tasks.Job) {
			j.Verify, j.Escalate = []tasks.Verify{checks("v", "false")}, []tasks.Model{{ID: "script:y"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			if c.set != nil {
				c.set(&spec)
			}
			if c.inPlace {
				spec.Commit = nil
			}
			interrupted := false
			var after []string
			s.kill = func(e event.Event) bool {
				switch {
				case !interrupted && c.at(e):
					interrupted = true
					s.end(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
				case interrupted && (e.Type == event.TurnStarted || e.Type == event.CommandStarted && e.Command.Kind != event.VerifyCommand):
					after = append(after, string(e.Type))
				}
				return false
			}
			turns := done + "agents:\n  review: {turns: [{calls: [{tool: read, args: {filePath: one}}]}, " + accepts + "]}\n"
			_, _, end := s.works(&tasks.Plan{}, spec, turns)
			if end == nil || *end != (ending.Stop{Code: event.CodeInterrupted, Detail: "interrupted by SIGINT"}) || !interrupted || len(after) > 0 {
				t.Errorf("%+v, then %s", end, after)
			}
		})
	}
}

// It also ends a job that is resumed, before its files are restored.
func TestASignalEndsAResumedJob(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.kill = inCall("r1/a", 2)
	s.works(&tasks.Plan{}, spec, twoFiles)
	s.next(history.Order{})
	s.kill = func(e event.Event) bool {
		if e.Type == event.JobStarted {
			s.end(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
		}
		return false
	}
	if _, _, end := s.works(&tasks.Plan{}, spec, "  - text: never\n"); end == nil || end.Code != event.CodeTerminated {
		t.Errorf("%+v", end)
	}
}

// What can't be written in the report directory is reported by what needs it, and ends no more than that.
func TestAReportDirectoryThatCantBeWritten(t *testing.T) {
	const calls = "  - calls: [{tool: write, args: {filePath: one, content: '1'}}]\n  - calls: [{tool: write, args: {filePath: two, content: '2'}}]\n"
	for name, c := range map[string]struct {
		file     string // that is a directory, or the other way round
		turns    string
		review   bool
		end      string
		verdict  string
		warnings string
	}{
		"the journal": {file: "sessions/a.jsonl/", turns: "  - text: never\n", end: "open the transcript: "},
		"of a child":  {file: "sessions/a.task-1.jsonl/", turns: asksChild("look", "where", "") + "  - {expect: ['open the transcript: '], text: done}\nagents:\n  look: {turns: [{text: never}]}\n"},
		"of a review": {file: "sessions/a@review.jsonl/", turns: calls + "  - text: done\nagents:\n  review: {turns: [" + accepts + "]}\n", review: true, verdict: "not_reviewed: open the transcript: "},
		"the states":  {file: "snapshots", turns: calls + "  - text: done\n", warnings: "; if the run is killed now, the job is resumed from an earlier turn"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			path := filepath.Join(s.opts.Dir.Path(), filepath.FromSlash(c.file))
			mkdirFor(t, path)
			if strings.HasSuffix(c.file, "/") {
				if err := os.MkdirAll(path, 0o755); err != nil {
					t.Fatal(err)
				}
			} else {
				writeFile(t, path, "")
			}
			spec := s.job("a")
			if c.review {
				spec.Review = &tasks.Review{Agent: tasks.DefaultReviewer}
			}
			_, r, end := s.works(helpers(), spec, c.turns)
			if got := ending.Reason(end); !strings.HasPrefix(got, c.end) || (got == "") != (c.end == "") || end != nil && r.Totals.Turns > 0 {
				t.Errorf("%+v", end)
			}
			verdict := ""
			if r.Review != nil {
				verdict = string(r.Review.Verdict) + ": " + r.Review.Reason
			}
			if !strings.HasPrefix(verdict, c.verdict) || (verdict == "") != (c.verdict == "") {
				t.Errorf("verdict %q", verdict)
			}
			if got := s.warnings(); strings.Count(got, "\n") > 0 || !strings.HasSuffix(got, c.warnings) || (got == "") != (c.warnings == "") {
				t.Errorf("warnings:\n%s", got)
			}
		})
	}
}

// A worktree that something removes ends the job, which names what could not be done. Nothing is taken for unchanged.
func TestAWorktreeThatIsGone(t *testing.T) {
	const turns = "  - calls: [{tool: bash, args: {command: touch one}}]\n  - text: done\nagents:\n  review: {turns: [" + accepts + "]}\n"
	all := permission.Profile{Name: "all", Rules: []permission.Rule{{Permission: "*", Pattern: "*", Effect: permission.Allow}}}
	fails := "  - calls: [{tool: bash, args: {command: touch one}}]\n  - text: \"\"\n  - text: \"\"\n"
	for name, c := range map[string]struct {
		set    func(*stage, *tasks.Job)
		models map[string]string
		at     func(event.Event) bool
		code   event.Code
		want   string
	}{
		"commit": {nil, nil, nil, event.CodeCommit, "find the paths that the job changed: "},
		"change": {func(_ *stage, j *tasks.Job) { j.Commit, j.Profile, j.Change = nil, all, tasks.Change{MaxFiles: 1} }, nil, nil, event.CodeCommit, "find the job's changes: "},
		"ablate": {func(_ *stage, j *tasks.Job) {
			j.Commit, j.Profile, j.Ablate = nil, all, tasks.Ablate{Time: time.Minute, Jobs: 1}
		}, nil, nil, event.CodeCommit, "find the job's changes: "},
		"review": {func(_ *stage, j *tasks.Job) {
			j.Commit, j.Profile, j.Review = nil, all, &tasks.Review{Agent: tasks.DefaultReviewer}
		}, nil, nil, event.CodeCommit, "find the changes for the review: "},
		"escalate": {func(_ *stage, j *tasks.Job) { j.Escalate = []tasks.Model{{ID: "script:y"}} }, map[string]string{"script:x": fails}, nil, event.CodeCommit, "save the work of the model: "},
		"keep":     {func(_ *stage, j *tasks.Job) { j.Escalate, j.KeepBase = []tasks.Model{{ID: "script:y"}}, true }, map[string]string{"script:x": fails}, nil, event.CodeCommit, "undo the changes of the model: "},
		"script": {func(_ *stage, j *tasks.Job) {
			j.Script = tasks.NewTaskScript("s.sh", []byte("d=$PWD; cd /; rm -rf $d"))
		}, nil, first(event.JobEnded), event.CodeCommit, "find the paths that the script changed: "},
		"failed script": {func(_ *stage, j *tasks.Job) {
			j.Script = tasks.NewTaskScript("s.sh", []byte("d=$PWD; cd /; rm -rf $d; exit 1"))
		}, nil, first(event.JobEnded), event.CodeCommit, "undo the changes of script s.sh: "},
		"script directory": {func(s *stage, j *tasks.Job) {
			j.Script = tasks.NewTaskScript("s.sh", []byte("true"))
			writeFile(s.t, filepath.Join(s.opts.Work, "scripts"), "")
		}, nil, first(event.JobEnded), event.CodeInternal, "mkdir "},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			if c.set != nil {
				c.set(s, &spec)
			}
			if c.models == nil {
				c.models = map[string]string{"script:x": turns}
			}
			if c.at == nil {
				c.at = func(e event.Event) bool { return e.Type == event.TurnEnded && e.Turn.Number == 2 }
			}
			s.uses.OpenModel = casts(t, c.models)
			j := s.begin(&tasks.Plan{}, spec)
			p := s.prepared(j)
			s.kill = func(e event.Event) bool {
				if c.at(e) {
					os.RemoveAll(p.Dir)
				}
				return false
			}
			r, end := s.session(j, p)
			if end == nil || end.Code != c.code || !strings.HasPrefix(end.Detail, c.want) || r.Review != nil || r.Hunks != nil {
				t.Errorf("%+v, %+v", end, r)
			}
		})
	}
}

// A job whose programs could not lose their rights does not start, and what its prompt has of others is marked before the first
// request.
func TestUntrustedContentOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		after  tasks.AfterUntrusted
		from   string
		turns  string
		marked string
		end    string
	}{
		"the network can't be closed": {tasks.AfterUntrusted{Network: true, Source: "m.yaml:3"}, "", "  - text: never\n", "", "m.yaml:3"},
		"of an event":                 {tasks.AfterUntrusted{Bash: tasks.BashNone, Source: "m.yaml:3"}, "event.title", "  - calls: [{tool: bash, args: {command: touch one}}]\n  - {expect: ['m.yaml:3'], text: done}\n", "event.title in the prompt", ""},
		"nothing":                     {tasks.AfterUntrusted{Bash: tasks.BashNone, Source: "m.yaml:3"}, "", "  - calls: [{tool: bash, args: {command: touch one}}]\n  - {expect: ['no output'], text: done}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.AfterUntrusted, spec.FromEvent = &c.after, c.from
			_, r, end := s.works(&tasks.Plan{Jobs: []tasks.Job{spec}}, spec, c.turns)
			if got := ending.Reason(end); !strings.Contains(got, c.end) || (got == "") != (c.end == "") || end != nil && r.Totals.Turns > 0 {
				t.Errorf("%+v", end)
			}
			var marked strings.Builder
			for _, e := range s.of(event.UntrustedRead) {
				marked.WriteString(e.Untrusted.What)
			}
			if diff := cmp.Diff(c.marked, marked.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Before a job has run anything but its own tools, its worktree is the base: it is not searched.
func TestTheStateBeforeTheFirstTurnIsTheBase(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"base": "0\n"})
	base := git(t, s.repo, "rev-parse", "HEAD^{tree}")
	for name, c := range map[string]struct {
		setup []string
		named bool
	}{"calls alone": {nil, true}, "after setup": {[]string{"true"}, false}} {
		spec := s.job(strings.Fields(name)[1])
		spec.Setup = c.setup
		j := s.begin(&tasks.Plan{}, spec)
		saved, err := (&saver{work: &work{job: j, site: s.prepared(j)}}).start()
		if err != nil || saved.Tree != base || saved.Named != c.named {
			t.Errorf("%s: %+v, %v", name, saved, err)
		}
	}
}
