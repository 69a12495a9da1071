package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/runtest"
	"github.com/millhand/millhand/tasks"
)

const (
	tasksOf  = "tasks:\n  - {id: a, prompt: Look., profile: readonly, repos: [{path: .}]}\n  - {id: b, prompt: Look., profile: readonly, repos: [{path: .}]}\n"
	scripted = "version: 1\nname: fleet\nmodel: script:model.yaml\n"
)

// stage is a directory with a manifest, as a user has it, and the variables of a process.
type stage struct {
	t     *testing.T
	dir   string
	env   map[string]string
	world world.World
}

func newStage(t *testing.T, manifest string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), env: map[string]string{"HOME": t.TempDir()}}
	s.write("m.yaml", manifest)
	s.write("model.yaml", "version: 1\nturns: [{text: Done.}]\n")
	s.world = world.World{Dir: s.dir, Out: t.Output(), Err: t.Output(), Now: time.Now, Rollouts: waves.Rollouts{}, Getenv: func(name string) string { return s.env[name] }}
	return s
}

func (s *stage) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// options are those of a run of the manifest without a sandbox, and of more arguments.
func (s *stage) options(args ...string) invocation.Options {
	s.t.Helper()
	return runtest.Options(s.t, s.dir, append([]string{"--sandbox=off", filepath.Join(s.dir, "m.yaml")}, args...)...)
}

func TestARunIsReadyAfterItsChecks(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+"tools: {count: {description: Counts., command: [wc], parameters: {type: object}}}\n"+tasksOf)
	c, err := Run(t.Context(), s.world, s.options())
	defer c.Settle()
	if err != nil || len(c.Plan.Jobs) != 2 || c.Models == nil || c.Models.Plan != c.Plan || c.Rollout != nil || c.Key != nil || c.probe == nil {
		t.Fatalf("%+v, %v, %v", c, err, fault.ProblemsOf(err))
	}
	if len(c.Custom) != 1 || c.Custom[0].Spec().Name != "count" {
		t.Errorf("tools %+v", c.Custom)
	}
	one := c.With(c.Plan.OneJob(1, 0))
	if len(one.Plan.Jobs) != 1 || one.Models.Plan != one.Plan || len(c.Plan.Jobs) != 2 {
		t.Errorf("with one job: %+v", one)
	}
}

func TestARunUsesTheAccountsItIsGiven(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+tasksOf)
	o := s.options()
	o.Accounts = models.NewAccounts(s.world.Now, nil, nil)
	c, err := Run(t.Context(), s.world, o)
	defer c.Settle()
	if err != nil || c.Models.Accounts != o.Accounts {
		t.Errorf("accounts %p, want %p; %v", c.Models.Accounts, o.Accounts, err)
	}
}

func TestAPlanIsChangedBeforeItIsChecked(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+tasksOf)
	o := s.options()
	o.Change = func(_ context.Context, p *tasks.Plan) (*tasks.Plan, error) { return p.OneJob(0, 0), nil }
	c, err := Run(t.Context(), s.world, o)
	c.Settle()
	if err != nil || len(c.Plan.Jobs) != 1 || c.Models.Plan != c.Plan {
		t.Errorf("%d jobs, %v", len(c.Plan.Jobs), err)
	}
}

func TestARunThatCannotSucceedIsRefusedWithItsExitCode(t *testing.T) {
	t.Parallel()
	policy := "version: 1\nsandbox: require\n"
	for name, c := range map[string]struct {
		manifest string
		prepare  func(s *stage, o *invocation.Options)
		exit     event.Exit
		want     string
	}{
		"no directory for temporary files": {"", func(s *stage, _ *invocation.Options) { s.env["TMPDIR"] = "/dev/null/none" }, event.ExitUsage, "/dev/null/none"},
		"an invalid manifest":              {"version: 1\n", nil, event.ExitUsage, "1 problem"},
		"a change that is refused": {scripted + tasksOf, func(_ *stage, o *invocation.Options) {
			o.Change = func(_ context.Context, p *tasks.Plan) (*tasks.Plan, error) { return p, errors.New("no such job") }
		}, event.ExitUsage, "no such job"},
		"an example of a policy": {
			scripted + "profiles: {p: {extends: readonly, examples: [{allow: bash, subject: ls}]}}\n" + strings.ReplaceAll(tasksOf, "readonly", "p"), nil, event.ExitUsage, "example failed",
		},
		"an unknown price":   {"version: 1\nmodel: openai/gpt-none\nlimits: {cost: 1}\n" + tasksOf, nil, event.ExitUsage, "price of openai/gpt-none is unknown"},
		"an unknown sandbox": {scripted + tasksOf, func(_ *stage, o *invocation.Options) { o.Sandbox = "none" }, event.ExitUsage, "none"},
		"a policy that requires one": {scripted + tasksOf, func(s *stage, o *invocation.Options) {
			o.Plan.Policies = []string{s.write("policy.yaml", policy)}
		}, event.ExitUsage, "--sandbox off not allowed"},
		"an invalid script": {scripted + tasksOf, func(s *stage, _ *invocation.Options) { s.write("model.yaml", "turns: x") }, event.ExitUsage, "model.yaml"},
		"a missing key":     {"version: 1\nmodel: openai/gpt-5-mini\n" + tasksOf, nil, event.ExitAuth, "OPENAI_API_KEY"},
		"no recording": {scripted + tasksOf, func(s *stage, o *invocation.Options) {
			o.Record = s.write("recording", "x\nx\n")
		}, event.ExitUsage, "recording"},
		"a key for signatures": {
			scripted + strings.ReplaceAll(tasksOf, "profile: readonly", "profile: build, commit: {sign: ssh}"), nil, event.ExitAuth, "commit.sign: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.manifest)
			o := s.options()
			if c.prepare != nil {
				c.prepare(s, &o)
			}
			got, err := Run(t.Context(), s.world, o)
			got.Settle()
			if fault.ExitOf(err) != c.exit || !strings.Contains(err.Error(), c.want) {
				t.Errorf("exit code %d, %v %v; want %d, %q", fault.ExitOf(err), err, fault.ProblemsOf(err), c.exit, c.want)
			}
		})
	}
}

// confined is what is checked of a plan whose jobs run commands.
func confined(mode sandbox.Mode) Checked {
	return Checked{Plan: &tasks.Plan{Jobs: []tasks.Job{{Setup: []string{"make"}}}}, sandbox: mode, probe: &levels.Probe{}}
}

func TestTheSandboxIsChosenWhileRepositoriesAreChecked(t *testing.T) {
	t.Parallel()
	refused := errors.New("a branch exists")
	for mode, want := range map[sandbox.Mode]sandbox.Level{sandbox.Off: sandbox.None, sandbox.External: sandbox.Outside} {
		for _, result := range []error{nil, refused} {
			level, _, err := confined(mode).Confine(t.Context(), func(ctx context.Context) error { return errors.Join(ctx.Err(), result) })
			if level != want || (err != nil) != (result != nil) || err != nil && !errors.Is(err, refused) {
				t.Errorf("%s: level %s, %v", mode, level, err)
			}
		}
	}
}

func TestWithoutASandboxTheCheckOfRepositoriesEnds(t *testing.T) {
	t.Parallel()
	_, _, err := confined(sandbox.Require).Confine(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if fault.ExitOf(err) != event.ExitPolicy || !errors.Is(err, sandbox.ErrAbsent) {
		t.Errorf("ended by it: %v", err)
	}
	if _, _, err := confined(sandbox.Require).Confine(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, sandbox.ErrAbsent) {
		t.Errorf("ended before: %v", err)
	}
	signal := event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(signal)
	if _, _, err := confined(sandbox.Require).Confine(ctx, func(ctx context.Context) error { return context.Cause(ctx) }); !errors.Is(err, signal) {
		t.Errorf("a signal: %v", err)
	}
}
