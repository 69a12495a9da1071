package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// cleanly prepares a job with setup commands, lets an agent change the workspace, and runs a verify command in a clean
// checkout.
func (s *stage) cleanly(spec tasks.Job, setup []string, agent func(dir string), line string) commands.Ran {
	s.t.Helper()
	spec.Setup, spec.Verify = setup, inClean(verify(line))
	j := s.begin(&tasks.Plan{AllowDirty: true}, spec)
	p := s.prepared(j)
	if end := ending.First(s.t.Context(), JobHooks{Site: p}.SetUp, j.AfterSetup, p.BeforeAgent); end != nil {
		s.t.Fatalf("%+v", *end)
	}
	agent(p.Space.Dir())
	ran, end := Verifier{Site: p}.All(s.t.Context(), 1)
	if end != nil {
		s.t.Fatalf("%+v", *end)
	}
	if left, err := os.ReadDir(filepath.Join(s.opts.Work, "clean")); err != nil || len(left) > 0 || len(s.openFiles("clean")) > 0 {
		s.t.Errorf("left %v, %v; open %q", left, err, s.openFiles("clean"))
	}
	return ran[0]
}

// A clean checkout has what the commit would have, after setup, and nothing of the agent's private files.
func TestVerifyInACleanCheckout(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"web/b": "b\n", ".gitignore": "*.log\n"})
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "web")
	private := filepath.Join(s.opts.Work, "tmp", "a", "agents")
	ran := s.cleanly(spec, []string{"echo >of-setup"}, func(dir string) {
		writeFile(t, filepath.Join(dir, "new"), "x\n")
		writeFile(t, filepath.Join(dir, "agent.log"), "x\n")
		writeFile(t, private, "x\n")
	}, "pwd; ls; ls $TMPDIR; git status --porcelain; git log -2 --format=%an; echo x >new")
	want(t, "result", event.Verify{
		Name: "v1", Passed: true, In: event.InClean, Attempt: 1, ElapsedMS: ran.ElapsedMS,
		Tail: filepath.Join(s.opts.Work, "clean", "a", "web") + "\nb\nnew\nof-setup\n?? web/of-setup\nmillhand\nt\n",
	}, ran.Verify)
	if c := s.of(event.CommandStarted); len(c) != 2 || c[1].Command.In != event.InClean {
		t.Errorf("started %+v", c)
	}
	want(t, "private file of the agent", "x\n", read(t, private))
}

// The commit of a clean checkout is the one that the job would make.
func TestTheCommitOfACleanCheckout(t *testing.T) {
	for name, c := range map[string]struct {
		own  bool
		want string
	}{
		"of a job that commits": {false, "add one"},
		"of another job":        {true, "changes of job a"},
	} {
		s := setUp(t)
		spec := s.job("a")
		spec.Commit.Message = "add one"
		if c.own {
			spec.Commit = nil
		}
		ran := s.cleanly(spec, nil, func(dir string) { writeFile(t, filepath.Join(dir, "new"), "x\n") }, "git log -1 --format=%s")
		want(t, name, c.want+"\n", ran.Tail)
	}
}

// Setup runs again, on the agent's change: what fails there fails verify, and the variables of setup are withheld.
func TestSetupInACleanCheckout(t *testing.T) {
	s := setUp(t)
	s.opts.Getenv = func(name string) string {
		if name == "SITE_TOKEN" {
			return "value"
		}
		return os.Getenv(name)
	}
	spec := s.job("a")
	spec.SetupEnv = []string{"SITE_TOKEN"}
	line := "test ! -e new || { echo ${SITE_TOKEN-none}; exit 4; }"
	ran := s.cleanly(spec, []string{"true", line}, func(dir string) { writeFile(t, filepath.Join(dir, "new"), "x\n") }, "true")
	if tail := "setup command \"" + line + "\" failed in a clean checkout (exit code 4):\nnone\n"; ran.Passed || ran.Tail != tail || ran.Name != "v1" {
		t.Errorf("%+v", ran)
	}
	want(t, "warnings", "setup commands don't get setup_env (SITE_TOKEN): it runs code of the agent's change", s.warnings())
}

// A change that can't be committed does not pass, which the model can fix.
func TestACleanCheckoutOfWhatCantBeCommitted(t *testing.T) {
	s := setUp(t)
	ran := s.cleanly(s.job("a"), nil, func(dir string) {
		writeFile(t, filepath.Join(dir, "nested", "x"), "x\n")
		git(t, filepath.Join(dir, "nested"), "init", "-q")
		git(t, filepath.Join(dir, "nested"), "add", "-A")
		git(t, filepath.Join(dir, "nested"), "commit", "-q", "-m", "nested")
	}, "true")
	if ran.Passed || ran.ExitCode != -1 || !strings.Contains(ran.Tail, "nested") || ran.Output != ran.Tail || ran.Line != ran.Tail {
		t.Errorf("%+v", ran)
	}
}

// A job whose commit can't be checked out is not verified.
func TestACleanCheckoutThatFails(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = inClean(verify("true"))
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	writeFile(t, filepath.Join(s.opts.Work, "clean"), "in the way")
	_, end := Verifier{Site: p}.All(t.Context(), 1)
	stopped(t, "clean", end, event.CodeInternal, "check out the changes of")
}
