package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/tasks"
)

// testWorker returns a worker with a secret key.
func testWorker(t *testing.T, s *queuetest.Server) *worker {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	w := world.World{Dir: "/work", In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Now: time.Now, Getenv: func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "sk-secret-of-the-worker", "HOME": "/nowhere"}[name]
	}}
	return &worker{world: w, queue: q, dir: t.TempDir(), claims: map[*queue.Claim]time.Time{}, plans: map[string]*queuedPlan{}, refused: map[string]string{}, stopped: map[string]bool{}}
}

// stored connects to a server, and returns the store of files as anybody can write to it.
func stored(t *testing.T, s *queuetest.Server) (jetstream.JetStream, jetstream.ObjectStore) {
	t.Helper()
	conn, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	files, err := js.ObjectStore(t.Context(), "millhand-files")
	if err != nil {
		t.Fatal(err)
	}
	return js, files
}

// store stores the inputs of a run as a hostile submitter could, and returns the run.
func store(t *testing.T, s *queuetest.Server, id string, inputs map[string]string, o queued.Options) *queue.Run {
	t.Helper()
	_, files := stored(t, s)
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &queue.Run{ID: id, Dir: "/a", Manifests: []string{"m.yaml"}, Options: options, Lease: time.Minute, MaxDeliveries: 3}
	for path, text := range inputs {
		r.Files = append(r.Files, queue.File{Path: path, Mode: 0o644, SHA256: queue.HashOf([]byte(text))})
		if _, err := files.PutBytes(t.Context(), "input/"+queue.HashOf([]byte(text)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestAHostileRunReadsNoFilesOfTheWorker(t *testing.T) {
	s := queuetest.Start(t)
	secret := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(secret, []byte("tasks: the-secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	above := strings.Repeat("../", 30) + strings.TrimPrefix(secret, "/")
	manifest := func(line string) string {
		return "version: 1\nmodel: openai/gpt-5-mini\nrepos: [{url: 'https://example.com/r.git'}]\ntasks:\n  - id: a\n    " + line + "\n"
	}
	for name, c := range map[string]struct {
		manifest string
		options  queued.Options
		want     string
	}{
		"no":                     {manifest("prompt: fix it"), queued.Options{}, "the plan differs"},
		"instructions above":     {manifest("prompt: fix it") + "instructions: [" + above + "]\n", queued.Options{}, "not an input"},
		"absolute instructions":  {manifest("prompt: fix it") + "instructions: [" + secret + "]\n", queued.Options{}, "absolute path"},
		"a list above":           {strings.Replace(manifest("prompt: fix it"), "{url: 'https://example.com/r.git'}", "{file: "+above+"}", 1), queued.Options{}, "not an input"},
		"an absolute list":       {strings.Replace(manifest("prompt: fix it"), "{url: 'https://example.com/r.git'}", "{file: "+secret+"}", 1), queued.Options{}, "absolute path"},
		"a maximum profile":      {manifest("prompt: fix it"), queued.Options{MaxProfile: secret}, "problem in other files"},
		"a max profile (u)":      {manifest("prompt: fix it"), queued.Options{MaxProfile: above, Untrusted: true}, "problem in other files"},
		"a manifest that is bad": {"tasks: [sk-secret-of-the-worker]\n", queued.Options{}, "m.yaml"},
	} {
		k := testWorker(t, s)
		r := store(t, s, "r", map[string]string{"/a/m.yaml": c.manifest}, c.options)
		if name == "a maximum profile" {
			r.Options = json.RawMessage(`{"max_profile":` + strconv.Quote(secret) + `}`)
		}
		err := k.accept(t.Context(), r)
		text := k.refused["r"]
		if err == nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: error %v, shown %q, want %q", name, err, text, c.want)
		}
		if strings.Contains(text, "the-secret") || strings.Contains(text, "sk-secret") {
			t.Errorf("%s: a secret is shown: %s", name, text)
		}
	}
}

// A maximum profile may be a file: it is an input then.
func TestAMaximumProfileIsAnInput(t *testing.T) {
	s := queuetest.Start(t)
	k := testWorker(t, s)
	for _, path := range []string{"p.yaml", "/a/p.yaml"} {
		r := store(t, s, "r"+strconv.Itoa(len(path)), map[string]string{
			"/a/m.yaml": "version: 1\nmodel: openai/gpt-5-mini\nrepos: [{url: 'https://example.com/r.git'}]\ntasks:\n  - id: a\n    prompt: fix it\n",
			"/a/p.yaml": "extends: readonly\n",
		}, queued.Options{MaxProfile: path})
		if err := k.accept(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the plan differs") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

func TestAnInputThatIsTooLarge(t *testing.T) {
	s := queuetest.Start(t)
	k := testWorker(t, s)
	r := store(t, s, "r", map[string]string{"/a/m.yaml": "12345"}, queued.Options{})
	if _, err := k.queue.Input(t.Context(), r.Files[0].SHA256, 4); err == nil {
		t.Error("an input that exceeds the limit is read")
	}
	if data, err := k.queue.Input(t.Context(), r.Files[0].SHA256, 5); err != nil || string(data) != "12345" {
		t.Errorf("input %q, %v", data, err)
	}
}

func TestAWorkerForgetsPlans(t *testing.T) {
	s := queuetest.Start(t)
	k := testWorker(t, s)
	running := &queue.Claim{Run: &queue.Run{ID: "r0"}}
	k.claims[running] = time.Now()
	for i := range mostPlans + 5 {
		r := store(t, s, "r"+strconv.Itoa(i), map[string]string{"/a/m.yaml": "x"}, queued.Options{})
		k.accept(t.Context(), r)
	}
	dirs, err := filepath.Glob(filepath.Join(k.dir, "inputs-*"))
	if err != nil || len(dirs) > mostPlans+2 || len(k.plans) > mostPlans+2 || len(k.refused) > mostPlans+2 {
		t.Errorf("%d plans, %d refused, directories %q, %v", len(k.plans), len(k.refused), dirs, err)
	}
	if !slices.Contains(dirs, k.inputs("r0")) || k.plans["r0"] == nil {
		t.Error("the plan of a job that runs is dropped")
	}
}

// The lists of repositories of a run are in its events once.
func TestJobsDoNotRepeatSources(t *testing.T) {
	plan := &tasks.Plan{Jobs: []tasks.Job{{ID: "a"}, {ID: "b", Needs: []string{"a"}}}, Sources: []tasks.Listed{{Repos: []tasks.ListedRepo{{Name: "acme/api"}}}}}
	r := &queue.Run{
		ID: "r", Jobs: []queue.Job{{ID: "a", Key: "ka"}, {ID: "b", Key: "kb"}},
		Start: event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}, Sources: plan.RecordedSources()},
	}
	own, err := jobPlan(plan, &queue.Claim{Run: r, Job: r.Jobs[1]}, time.Now())
	if err != nil || len(own.Jobs) != 1 || own.Jobs[0].ID != "b" || own.Jobs[0].Needs != nil || own.Sources != nil || own.Shard != (tasks.Shard{Index: 2, Total: 2}) {
		t.Errorf("plan %+v, %v", own, err)
	}
	if s := queued.Start(r, r.Jobs[1]); len(s.Jobs) != 1 || s.Jobs[0].ID != "b" || s.Sources != nil || s.Shard.Index != 2 {
		t.Errorf("start %+v", s)
	}
	if _, err := jobPlan(plan, &queue.Claim{Run: r, Job: queue.Job{ID: "c", Key: "ka"}}, time.Now()); err == nil {
		t.Error("a plan for a job that the run does not have")
	}
}

func TestAStoppedWorkerDoesNotWaitForever(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	later, done := lingering(ctx)
	cause := errors.New("stopped")
	stop(cause)
	if later.Err() != nil {
		t.Error("it does not wait at all")
	}
	done()
	<-later.Done()
}

func TestPoliciesOfBothMachinesBoundAQueuedPlan(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	const manifest = "version: 1\nmodel: openai/gpt-5-mini\nprofile: full\nrepos: [{url: 'https://example.com/r.git'}]\ntasks:\n  - {id: a, prompt: fix it}\n"
	own := filepath.Join(t.TempDir(), "own.yaml")
	for name, c := range map[string]struct {
		policy, own string   // of the submitter and of the worker
		want        []string // names of the policies
		invalid     bool
	}{
		"none":          {"", "", nil, false},
		"a submitter's": {"version: 1\nmax_profile: readonly\n", "", []string{"/a/p.yaml"}, false},
		"a worker's":    {"", "version: 1\nmax_profile: readonly\n", []string{own}, false},
		"the same":      {"version: 1\nmax_profile: readonly\n", "version: 1\nmax_profile: readonly\n", []string{own}, false},
		"two":           {"version: 1\nmax_profile: readonly\n", "version: 1\nsandbox: require\n", []string{own, "/a/p.yaml"}, false},
		"invalid":       {"version: x\n", "", nil, true},
	} {
		k := testWorker(t, s)
		inputs := map[string]string{"/a/m.yaml": manifest}
		if c.policy != "" {
			inputs["/a/p.yaml"] = c.policy
		}
		r := store(t, s, "r", inputs, queued.Options{})
		if c.policy != "" {
			r.Policies = []string{"/a/p.yaml"}
		}
		if c.own != "" {
			k.opts.Policies.Policies = []string{own}
			if err := os.WriteFile(own, []byte(c.own), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := k.load(t.Context(), r)
		if c.invalid != (plan == nil) || err == nil { // it differs from the one that was submitted
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.invalid {
			continue
		}
		var names []string
		for _, p := range plan.Policies {
			names = append(names, p.Name)
		}
		if bounded := !plan.Jobs[0].Profile.MayChange(); !slices.Equal(names, c.want) || bounded != strings.Contains(c.policy+c.own, "readonly") {
			t.Errorf("%s: policies %q, want %q, bounded %t", name, names, c.want, bounded)
		}
	}
}

func TestPlansThatWereUsedLastStay(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	k := testWorker(t, s)
	now := time.Unix(2e9, 0)
	k.world.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	accept := func(id string) {
		t.Helper()
		if err := k.accept(t.Context(), store(t, s, id, map[string]string{"/a/m.yaml": "x"}, queued.Options{})); err == nil {
			t.Fatal("an invalid manifest is accepted")
		}
	}
	for i := range mostPlans + 1 { // besides the one that is accepted now
		accept("r" + strconv.Itoa(i))
	}
	accept("r0")
	for _, id := range []string{"new1", "new2"} {
		accept(id)
	}
	if k.plans["r0"] == nil || k.plans["r1"] != nil || k.plans["new2"] == nil || k.refused["r1"] != "" {
		t.Errorf("r0 %t, r1 %t", k.plans["r0"] != nil, k.plans["r1"] != nil)
	}
}

func TestAPlanWhoseInputsAreMissingIsLoadedAgain(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	k := testWorker(t, s)
	r := store(t, s, "r", map[string]string{"/a/m.yaml": "x"}, queued.Options{})
	there := r.Files
	r.Files = []queue.File{{Path: "/a/m.yaml", Mode: 0o644, SHA256: queue.HashOf([]byte("never stored"))}}
	if err := k.accept(t.Context(), r); err == nil || !strings.Contains(err.Error(), "read /a/m.yaml: ") || len(k.plans) > 0 || len(k.refused) > 0 {
		t.Errorf("%v, %d plans, refused %q", err, len(k.plans), k.refused)
	}
	left := filepath.Join(k.inputs("r"), "a", "left")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.Files = there
	if err := k.accept(t.Context(), r); err == nil || k.refused["r"] == "" {
		t.Errorf("the stored one: %v, refused %q", err, k.refused)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a file of another attempt is an input")
	}
}

func TestTextsForOthersHaveNoSecretsOfThePlan(t *testing.T) {
	t.Parallel()
	k, _, _ := idle(t)
	k.world.Getenv = func(name string) string { return map[string]string{"DEPLOY": "deploy-secret-1"}[name] }
	plan := &tasks.Plan{Jobs: []tasks.Job{{SetupEnv: []string{"DEPLOY"}}}}
	k.plans = map[string]*queuedPlan{"r": {plan: plan, loaded: true}}
	if text := k.public(claimOf("r", "a"), errors.New("push: deploy-secret-1 is refused")).Error(); strings.Contains(text, "deploy-secret-1") || !strings.HasSuffix(text, " is refused") {
		t.Error(text)
	}
}
