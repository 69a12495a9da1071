package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/untrusted"
)

// wary is a job that loses rights once it has read untrusted content.
func (s *stage) wary() tasks.Job {
	spec := s.job("a")
	spec.Publish = tasks.PublishBranch
	spec.AfterUntrusted = &tasks.AfterUntrusted{Network: true, Publish: tasks.PublishPatch, Source: "m.yaml:3"}
	return spec
}

// marks returns what the reported marks were read from.
func (s *stage) marks() (all []string) {
	for _, e := range s.of(event.UntrustedRead) {
		all = append(all, e.Session+": "+e.Untrusted.What)
	}
	return all
}

// A mark removes the network and publishing from the job, and is reported.
func TestAMarkRemovesRights(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.wary())
	j.Spec.Comment, j.Spec.Requests = &tasks.Comment{}, &tasks.Requests{}
	if j.LimitPublishing(); j.Withheld() != "" || j.network.Reason() != nil || j.Spec.Publish != tasks.PublishBranch {
		t.Errorf("before: %q, %v", j.Withheld(), j.network.Reason())
	}
	j.Untrusted.Mark(untrusted.Mark{Session: "r1/a", Call: "c1", Tool: "webfetch", Turn: 2, Why: "a page"})
	if err := j.network.Reason(); err == nil || err.Error() != "the job has read untrusted content (a page), and after_untrusted.network is deny" {
		t.Errorf("the network: %v", err)
	}
	j.LimitPublishing()
	want(t, "withheld", "the job has read untrusted content: publish.mode branch with a comment with requests is limited to patch (after_untrusted.publish, m.yaml:3)", j.Withheld())
	if j.Spec.Publish != tasks.PublishPatch || j.Spec.Comment != nil || j.Spec.Requests.Made() {
		t.Errorf("it publishes %s", j.Spec.Publish)
	}
	marks := s.of(event.UntrustedRead)
	if len(marks) != 1 || marks[0].Job != "a" || marks[0].Session != "r1/a" {
		t.Fatalf("reported %+v", marks)
	}
	want(t, "mark", event.Untrusted{Turn: 2, Call: "c1", Tool: "webfetch", What: "a page", Publish: "patch", Revoked: &event.Revoked{Network: true, Source: "m.yaml:3"}}, *marks[0].Untrusted)
}

// A job without the key knows nothing of marks, and keeps its rights.
func TestWithoutAfterUntrusted(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.FromEvent = "event.title"
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	j.MarkStart()
	j.LimitPublishing()
	j.ReadNotes("AGENTS.md")
	j.Read("it")
	p.Sandboxes.ReadOutput("command", true)
	p.Sandboxes.FindUntrusted()
	told := 0
	j.Reaching(func(event.Network) { told++ })(event.Network{Host: "h"})
	if j.Untrusted != nil || j.network != nil || j.Withheld() != "" || len(s.marks()) > 0 || told != 1 || p.Sandboxes.Confined(p.Sandboxes.Own, "", spec.Profile, false) != nil {
		t.Errorf("it is marked: %v", s.marks())
	}
}

// A prompt with texts of others is untrusted from the start, and files of others are before setup commands run them.
func TestJobsWhoseStartIsUntrusted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *Job)
		want   []string
	}{
		"nothing":         {func(*stage, *Job) {}, nil},
		"an event":        {func(_ *stage, j *Job) { j.Spec.FromEvent = "event.title" }, []string{"r1/a: event.title in the prompt"}},
		"a context":       {func(_ *stage, j *Job) { j.Spec.Context = &tasks.Context{} }, []string{"r1/a: context of the issue or pull request in the prompt"}},
		"a pull request":  {func(_ *stage, j *Job) { j.Spec.Commit.PullRequest = &tasks.Thread{} }, []string{"r1/a: files of the pull request"}},
		"files of others": {func(s *stage, _ *Job) { s.opts.ForeignFiles = "files of a fork" }, []string{"r1/a: files of a fork"}},
		"files of others, elsewhere": {func(s *stage, j *Job) {
			s.opts.ForeignFiles, j.Spec.Repo.Kind = "files of a fork", tasks.RepoURL
		}, nil},
		"a follow-up": {func(s *stage, j *Job) {
			s.resumed(history.Order{Do: history.FollowUp{Prompt: "Fix it."}, Job: "a", Foreign: true},
				event.Event{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: "c0ffee"}}, event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{}})
			j.History = s.opts.History.Job("a")
		}, []string{"r1/a: comments, logs or conflicts of the pull request in the prompt"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			j := s.begin(&tasks.Plan{}, s.wary())
			c.change(s, j)
			j.startsOn("0123456789012345678901234567890123456789", "")
			if before := c.want != nil && strings.Contains(c.want[0], "files"); j.Untrusted.Is() != before || (j.network.Reason() != nil) != before || len(s.marks()) > 0 {
				t.Errorf("before setup commands it is marked: %t, reported: %v", j.Untrusted.Is(), s.marks())
			}
			j.MarkStart()
			want(t, "marks", c.want, s.marks())
			if j.Untrusted.Is() != (c.want != nil) {
				t.Errorf("it is marked: %t", j.Untrusted.Is())
			}
		})
	}
}

// What an earlier process has read is still in the conversation, but not in a new one.
func TestMarksOfEarlierProcesses(t *testing.T) {
	read := event.Event{Type: event.UntrustedRead, Job: "a", Session: "r1/a#2", Untrusted: &event.Untrusted{Turn: 3, Call: "c", Tool: "bash", What: "a page"}}
	base := "0123456789012345678901234567890123456789"
	started := event.Event{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: base}}
	forked := event.Event{Type: event.RunStarted, Run: &event.Run{ForkedFrom: &event.Fork{Job: "a", Untrusted: &event.Untrusted{What: "an issue"}}}}
	failed := event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed}}
	for name, c := range map[string]struct {
		do     history.Intent
		events []event.Event
		want   []string
	}{
		"resumed":       {history.Resume{}, []event.Event{started, read}, []string{"r1/a: a page"}},
		"nothing read":  {history.Resume{}, []event.Event{started}, nil},
		"started again": {history.Start{}, []event.Event{started, read, failed}, nil},
		"unwatched":     {history.Resume{}, []event.Event{started, {Type: event.TurnEnded, Job: "a", Session: "r1/a", Turn: &event.Turn{Number: 1}}}, []string{"r1/a: earlier conversation, of which nothing is known"}},
		"a fork":        {history.Resume{}, []event.Event{forked}, []string{"r1/a: an issue"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			past := &history.Past{}
			for _, e := range append([]event.Event{{Type: event.RunStarted, Run: &event.Run{}}}, c.events...) {
				if e.Type == event.RunStarted && e.Run.ForkedFrom != nil {
					past = &history.Past{}
				}
				if err := past.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
			decided, err := history.Decide(past, history.Order{Do: c.do})
			if err != nil {
				t.Fatal(err)
			}
			spec := s.wary()
			j := s.begin(&tasks.Plan{}, spec) // the preflight has nothing to do with it
			s.opts.History = decided
			j = j.run.Job(spec)
			marked := c.want != nil
			if j.Untrusted.Is() != marked || (j.network.Reason() != nil) != marked || (j.Spec.Publish == tasks.PublishPatch) != marked || len(s.marks()) > 0 {
				t.Errorf("marked: %t, publishes %s, reported %v", j.Untrusted.Is(), j.Spec.Publish, s.marks())
			}
			j.MarkStart()
			want(t, "marks", c.want, s.marks())
			if marked && name == "resumed" {
				want(t, "mark", event.Untrusted{Turn: 3, Call: "c", Tool: "bash", What: "a page", Publish: "patch", Revoked: &event.Revoked{Network: true, Source: "m.yaml:3"}}, *s.of(event.UntrustedRead)[0].Untrusted)
			}
		})
	}
}

// A job that starts on files which a marked job can have written is marked before its first command.
func TestMarksOfFilesThatAJobStartsOn(t *testing.T) {
	type change func(*stage, *tasks.Job)
	none, own := change(func(*stage, *tasks.Job) {}), change(func(_ *stage, j *tasks.Job) { j.Commit = nil })
	message := func(s *stage, j *tasks.Job) { j.Output = tasks.OutputFile{Dir: s.repo, Path: "a/b.md"} }
	outside := func(s *stage, j *tasks.Job) { j.Output = tasks.OutputFile{Dir: s.opts.Work, Path: "b.md"} }
	ofA := []string{"r1/b: files of job a, which has read untrusted content"}
	for name, c := range map[string]struct {
		a, b   change
		marked bool // a
		want   []string
	}{
		"the same tree":        {own, own, true, ofA},
		"without a mark":       {own, own, false, nil},
		"a worktree":           {own, none, true, nil},
		"after a worktree":     {none, own, true, nil},
		"its message":          {message, own, true, ofA},
		"its message, outside": {outside, own, true, nil},
		"a copy":               {own, func(_ *stage, j *tasks.Job) { j.Repo.Kind = tasks.RepoCopy }, true, ofA},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setUp(t)
			first, second := s.wary(), s.wary()
			second.ID, second.Commit = "b", &tasks.Commit{Branch: "millhand/b"}
			c.a(s, &first)
			c.b(s, &second)
			jobs := s.beginAll(&tasks.Plan{AllowDirty: true}, first, second)
			p := s.prepared(jobs[0])
			if c.marked {
				jobs[0].Untrusted.Mark(untrusted.Mark{Session: "r1/a", Why: "a page"})
			}
			s.release(p)
			s.prepared(jobs[1])
			if got := jobs[1].network.Reason() != nil; got != (c.want != nil) {
				t.Errorf("the network is closed: %t", got)
			}
			jobs[1].MarkStart()
			marks := s.marks()
			if c.marked {
				marks = append([]string(nil), marks[1:]...)
			}
			want(t, "marks", c.want, marks)
		})
	}
}

// The same holds for files and commits of earlier processes.
func TestMarksOfFilesOfEarlierProcesses(t *testing.T) {
	t.Parallel()
	read := event.Event{Type: event.UntrustedRead, Job: "a", Session: "r1/a", Untrusted: &event.Untrusted{Turn: 3, What: "a page"}}
	ended := event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed}}
	passed := event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Passed}}
	turn := event.Event{Type: event.TurnEnded, Job: "a", Session: "r1/a", Turn: &event.Turn{Number: 1}}
	for name, c := range map[string]struct {
		id     string
		own    bool
		events []event.Event
		want   []string
	}{
		"started again":                {"a", true, []event.Event{read, ended}, []string{"r1/a: files of job a, which has read untrusted content"}},
		"another job":                  {"b", true, []event.Event{read, passed}, []string{"r1/b: files of job a, which has read untrusted content"}},
		"another job, in a worktree":   {"b", false, []event.Event{read, passed}, nil},
		"another job without a mark":   {"b", true, []event.Event{ended}, nil},
		"a commit":                     {"b", false, []event.Event{read, {Type: event.Committed, Job: "a", Commit: &event.Commit{}}, passed}, []string{"r1/b: files of job a, which has read untrusted content"}},
		"a commit of a job without":    {"b", false, []event.Event{{Type: event.Committed, Job: "a", Commit: &event.Commit{}}, ended}, nil},
		"started again, and unwatched": {"a", true, []event.Event{turn, ended}, []string{"r1/a: files of an earlier conversation, of which nothing is known"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setUp(t)
			head := git(t, s.repo, "rev-parse", "HEAD")
			past := &history.Past{}
			started := event.Event{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: head, Workspace: s.repo, Tree: "t"}}
			for _, e := range append([]event.Event{{Type: event.RunStarted, Run: &event.Run{}}, started}, c.events...) {
				if e.Commit != nil {
					e.Commit = &event.Commit{Hash: head}
				}
				if err := past.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
			decided, err := history.Decide(past, history.Order{Do: history.Start{}})
			if err != nil {
				t.Fatal(err)
			}
			spec := s.wary()
			spec.ID, spec.Commit = c.id, &tasks.Commit{Branch: "millhand/c"}
			if c.own {
				spec.Commit = nil
			}
			plan := &tasks.Plan{AllowDirty: true}
			s.begin(plan, spec) // the preflight has nothing to do with it
			s.opts.History = decided.Settle()
			j := NewRun(plan, &s.opts).Job(spec)
			p, end := j.OpenSite(t.Context())
			if end != nil {
				t.Fatalf("open: %+v", *end)
			}
			defer s.release(p)
			j.MarkStart()
			want(t, "marks", c.want, s.marks())
		})
	}
}

// Rights of programs can only be removed by a sandbox.
func TestRightsThatNothingCanRemove(t *testing.T) {
	bash := tasks.AfterUntrusted{Bash: tasks.BashReadonly, Source: "m.yaml:3"}
	for name, c := range map[string]struct {
		level  sandbox.Level
		limits *tasks.AfterUntrusted
		denied bool
	}{
		"a sandbox":         {sandbox.Full, &tasks.AfterUntrusted{Network: true}, false},
		"network":           {sandbox.None, &tasks.AfterUntrusted{Network: true, Source: "m.yaml:3"}, true},
		"commands":          {sandbox.None, &bash, true},
		"no commands":       {sandbox.None, &tasks.AfterUntrusted{Bash: tasks.BashNone}, false},
		"without the key":   {sandbox.None, nil, false},
		"only what is sent": {sandbox.None, &tasks.AfterUntrusted{Publish: tasks.PublishPatch}, false},
	} {
		s := setUp(t)
		s.opts.Level = c.level
		spec := s.job("a")
		spec.AfterUntrusted = c.limits
		code := event.Code("")
		if c.denied {
			code = event.CodeDenied
		}
		stopped(t, name, s.begin(&tasks.Plan{}, spec).CheckTrust(), code, "after_untrusted (m.yaml:3) removes rights of programs, which needs a sandbox of level A or B, and this machine or --sandbox has none")
	}
}

// What commands may have read marks the job when a model gets their output: untrusted files, or another host.
func TestOutputsThatCanBeUntrusted(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		globs   []string
		reached event.Network
		shown   bool
		want    []string
	}{
		"nothing":        {nil, []string{"*.issue"}, event.Network{}, true, nil},
		"a file":         {[]string{"d/x.issue"}, []string{"d/*.issue"}, event.Network{}, true, []string{"r1/a: output of a command that can read untrusted files"}},
		"a directory":    {[]string{"third/x"}, []string{"third"}, event.Network{}, true, []string{"r1/a: output of a command that can read untrusted files"}},
		"no globs":       {[]string{"x.issue"}, nil, event.Network{}, true, nil},
		"git's files":    {[]string{"d/.git/x.issue"}, []string{"d/.git/*.issue"}, event.Network{}, true, nil},
		"no output":      {[]string{"x.issue"}, []string{"*.issue"}, event.Network{}, false, nil},
		"a host":         {nil, nil, event.Network{Host: "example.com"}, true, []string{"r1/a: output of a command that has connected to example.com"}},
		"a denied host":  {nil, nil, event.Network{Host: "example.com", Denied: true}, true, nil},
		"too many files": {many(maxConcealed + 1), []string{"*.issue"}, event.Network{}, true, []string{"r1/a: output of a command that can read untrusted files"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.wary()
			spec.Untrusted = c.globs
			j := s.begin(&tasks.Plan{}, spec)
			p := s.prepared(j)
			for _, file := range c.files {
				writeFile(t, filepath.Join(p.Space.Dir(), file), "x\n")
			}
			told := 0
			if c.reached.Host != "" {
				j.Reaching(func(event.Network) { told++ })(c.reached)
			}
			p.Sandboxes.ReadOutput("command", c.shown)
			want(t, "marks", c.want, s.marks())
			if (told == 1) != (c.reached.Host != "") || p.Sandboxes.concealed != nil {
				t.Errorf("told %d times, concealed %q without a sandbox", told, p.Sandboxes.concealed)
			}
		})
	}
}

func many(n int) (files []string) {
	for i := range n {
		files = append(files, fmt.Sprintf("%d.issue", i))
	}
	return files
}

// A plugin that can have read untrusted files marks the job by what it changes of a prompt, and only by that.
func TestPromptsThatPluginsChange(t *testing.T) {
	for name, c := range map[string]struct {
		made string
		want []string
	}{
		"the same":  {"prompt", nil},
		"a new one": {"another", []string{"r1/a: output of a plugin that can read untrusted files"}},
	} {
		s := setUp(t)
		s.commit(map[string]string{"x.issue": "x\n"})
		spec := s.wary()
		spec.Untrusted = []string{"*.issue"}
		p := s.prepared(s.begin(&tasks.Plan{}, spec))
		if got := Noting(&p.Sandboxes, func(context.Context, string) string { return c.made })(t.Context(), "prompt"); got != c.made {
			t.Errorf("%s: %q", name, got)
		}
		want(t, name, c.want, s.marks())
	}
	if s := setUp(t); Noting[string](&s.prepared(s.begin(&tasks.Plan{}, s.job("a"))).Sandboxes, nil) != nil {
		t.Error("no plugin changes prompts")
	}
}

// Instructions of the repository that others can write mark the job.
func TestUntrustedInstructions(t *testing.T) {
	s := setUp(t)
	spec := s.wary()
	spec.Untrusted = []string{"docs/**"}
	j := s.begin(&tasks.Plan{}, spec)
	if j.ReadNotes("AGENTS.md"); len(s.marks()) > 0 {
		t.Errorf("marks %q", s.marks())
	}
	j.ReadNotes("AGENTS.md", "docs/AGENTS.md")
	want(t, "marks", []string{"r1/a: untrusted instructions docs/AGENTS.md"}, s.marks())
}

// Only so many files can be hidden that the sandbox still starts; a directory of them counts once.
func TestUntrustedFilesThatAreConcealed(t *testing.T) {
	for name, c := range map[string]struct {
		level sandbox.Level
		files []string
		want  []string
	}{
		"some":       {sandbox.Full, []string{"b.issue", "third/x", "third/y", "a"}, []string{"b.issue", "third"}},
		"too many":   {sandbox.Full, many(maxConcealed + 1), nil},
		"no sandbox": {sandbox.None, []string{"b.issue"}, nil},
	} {
		s := setUp(t)
		s.opts.Level = c.level
		spec := s.wary()
		spec.Untrusted = []string{"*.issue", "third"}
		j := s.begin(&tasks.Plan{}, spec)
		p, end := j.OpenSite(t.Context())
		if end != nil {
			t.Fatalf("%+v", *end)
		}
		t.Cleanup(func() { s.release(p) })
		for _, file := range c.files {
			writeFile(t, filepath.Join(p.Space.Dir(), file), "x\n")
		}
		p.Sandboxes.FindUntrusted()
		var got []string
		for _, path := range p.Sandboxes.concealed {
			got = append(got, filepath.Base(path))
		}
		want(t, name, c.want, got)
	}
}

// The rights of a mark name the servers of the plan, and the start of a job has which files are watched.
func TestRightsOfAMarkNameServers(t *testing.T) {
	s := setUp(t)
	spec := s.wary()
	spec.AfterUntrusted.MCP, spec.AfterUntrusted.Bash, spec.Untrusted = true, tasks.BashNone, []string{"*.issue"}
	j := s.begin(&tasks.Plan{MCP: []tasks.MCPServer{{Name: "local"}, {Name: "far", Remote: &tasks.Remote{}}}}, spec)
	want(t, "limits", untrusted.Limits{Network: true, MCP: true, Bash: true, Servers: []string{"local", "far"}, Remote: []string{"far"}, Source: "m.yaml:3"}, j.Untrusted.Limits)
	want(t, "watched", &event.Watched{Files: []string{"*.issue"}}, j.Watched())
	want(t, "without the key", nil, s.begin(&tasks.Plan{}, s.job("a")).Watched())
}

// The sandbox hides untrusted files until the job is marked, and then makes the workspace read-only for commands.
func TestTheSandboxFollowsTheMark(t *testing.T) {
	s := setUp(t)
	s.confined(sandbox.Full)
	s.commit(map[string]string{"x.issue": "others wrote this\n"})
	spec := s.wary()
	spec.Untrusted, spec.AfterUntrusted.Bash = []string{"*.issue"}, tasks.BashReadonly
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	p.Sandboxes.FindUntrusted()
	want(t, "concealed", []string{filepath.Join(p.Space.Dir(), "x.issue")}, p.Sandboxes.concealed)
	confine := p.Sandboxes.Confined(p.Sandboxes.Own, "", spec.Profile, false)
	bash := func(line string) (string, int) {
		var out strings.Builder
		res, err := proc.Run(t.Context(), proc.Command{Args: []string{"bash", "-c", line}, Dir: p.Space.Dir(), Env: p.Sandboxes.Own.Env, Timeout: time.Minute, Output: &out, Confine: confine})
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), res.ExitCode
	}
	if text, code := bash("cat x.issue; echo >before"); strings.Contains(text, "others") || code != 0 {
		t.Errorf("before the mark: %q, exit code %d", text, code)
	}
	j.Untrusted.Mark(untrusted.Mark{Why: "a page"})
	if text, code := bash("cat x.issue; echo >after"); !strings.Contains(text, "others") || code == 0 {
		t.Errorf("after the mark: %q, exit code %d", text, code)
	}
	if _, err := os.Stat(filepath.Join(p.Space.Dir(), "before")); err != nil || exists(filepath.Join(p.Space.Dir(), "after")) {
		t.Errorf("files of commands: %v", err)
	}
}
