package submission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/tasks"
)

// submitter is a directory with a manifest, the world of its commands and a queue.
type submitter struct {
	t        *testing.T
	dir      string
	world    world.World
	server   *queuetest.Server
	out, log strings.Builder
}

const manifest = `version: 1
model: openai/gpt-5-mini
profile: edit
budget: {cost: 5, time: 1h}
instructions: [house.md]
repos: [{url: "file://DIR/acme/web.git"}]
tasks:
  - {id: one, prompt: Add a notice., publish: {mode: push}}
  - {id: two, prompt: Add another notice., needs: [one], publish: {mode: push}}
`

func newSubmitter(t *testing.T) *submitter {
	t.Helper()
	git := gittest.NewSandbox(t)
	git.Write("README", "hello\n")
	git.Commit()
	s := &submitter{t: t, dir: filepath.Dir(git.Root), server: queuetest.Start(t)}
	git.Run("clone", "-q", "--bare", git.Root, filepath.Join(s.dir, "acme", "web.git"))
	s.write("m.yaml", strings.ReplaceAll(manifest, "DIR", s.dir))
	s.write("house.md", "Use tabs.\n")
	t.Chdir(s.dir)
	env := map[string]string{"HOME": git.Home, "PATH": os.Getenv("PATH")}
	s.world = world.World{Dir: s.dir, In: strings.NewReader(""), Out: &s.out, Err: &s.log, Now: time.Now, Sleep: clock.Wait, Getenv: func(name string) string { return env[name] }}
	return s
}

func (s *submitter) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// submit submits the manifest, and returns the id that was printed.
func (s *submitter) submit(change func(*Options)) (string, error) {
	s.t.Helper()
	o := Options{Server: queue.Options{URL: s.server.URL}, Deliveries: 3, Lease: time.Minute}
	o.Plan.Manifests = []string{"m.yaml"}
	if change != nil {
		change(&o)
	}
	s.out.Reset()
	s.log.Reset()
	err := Submit(s.t.Context(), s.world, o)
	lines := strings.Split(strings.TrimSuffix(s.out.String(), "\n"), "\n")
	return lines[len(lines)-1], err
}

// stored returns a run of the queue with the contents of its inputs by their path.
func (s *submitter) stored(id string) (*queue.Run, map[string]string) {
	s.t.Helper()
	q, err := queue.Open(s.t.Context(), queue.Options{URL: s.server.URL, Now: time.Now})
	if err != nil {
		s.t.Fatal(err)
	}
	defer q.Close()
	r, err := q.Run(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range r.Files {
		if f.Mode.IsDir() {
			continue
		}
		data, err := q.Input(s.t.Context(), f.SHA256, 1<<20)
		if err != nil {
			s.t.Fatalf("%s: %v", f.Path, err)
		}
		contents[f.Path] = string(data)
	}
	return r, contents
}

func TestAQueuedRunHasAllThatAWorkerLoads(t *testing.T) {
	s := newSubmitter(t)
	s.write("p.yaml", "version: 1\npublish: [none, push]\n")
	s.write("most.yaml", "extends: edit\n")
	id, err := s.submit(func(o *Options) {
		o.Plan.Policies, o.Plan.MaxProfile, o.NoBaseline = []string{"p.yaml"}, "most.yaml", true
	})
	if err != nil {
		t.Fatal(err, fault.ProblemsOf(err), &s.log)
	}
	if text := s.out.String(); text != "1 job queued, 1 wait for others\n"+id+"\n" {
		t.Errorf("%q", text)
	}
	r, contents := s.stored(id)
	if r.ID != id || r.Dir != s.dir || !slices.Equal(r.Manifests, []string{"m.yaml"}) || r.CostUSD != 5*money.Dollar || r.MaxDeliveries != 3 || r.Lease != time.Minute || r.Deadline.Sub(r.Submitted) != time.Hour {
		t.Errorf("%+v", r)
	}
	if r.Start.ID != id || len(r.Start.Jobs) != 2 || r.Start.PlanHash == "" {
		t.Errorf("%+v", r.Start)
	}
	o, err := queued.OptionsOf(r)
	if err != nil || !o.NoBaseline || o.MaxProfile != "most.yaml" || o.Untrusted {
		t.Errorf("%+v, %v", o, err)
	}
	at := func(name string) string { return filepath.Join(s.dir, name) }
	want := map[string]string{at("m.yaml"): strings.ReplaceAll(manifest, "DIR", s.dir), at("house.md"): "Use tabs.\n", at("p.yaml"): "version: 1\npublish: [none, push]\n", at("most.yaml"): "extends: edit\n"}
	if diff := cmp.Diff(want, contents); diff != "" {
		t.Errorf("inputs (-want +got)\n%s", diff)
	}
	if !slices.Equal(r.Policies, []string{at("p.yaml")}) {
		t.Errorf("policies %q", r.Policies)
	}
	if len(r.Jobs) != 2 || r.Jobs[0].Needs != nil || !slices.Equal(r.Jobs[1].Needs, []string{r.Jobs[0].Key}) || !slices.ContainsFunc(r.Jobs[0].Requires, func(list []string) bool { return slices.Contains(list, "OPENAI_API_KEY") }) {
		t.Errorf("%+v", r.Jobs)
	}

	// The same job is queued once.
	only := func(o *Options) {
		o.Plan.Policies, o.Plan.MaxProfile, o.Plan.Only = []string{"p.yaml"}, "most.yaml", []string{"one"}
	}
	again, err := s.submit(only)
	if err != nil || again != id || s.out.String() != "1 job already in the queue, by run "+id+"\n0 jobs queued\n"+id+"\n" {
		t.Errorf("%v: %s", err, &s.out)
	}
	if again, err = s.submit(func(o *Options) { only(o); o.Quiet = true }); err != nil || again != id || s.out.String() != id+"\n" {
		t.Errorf("quiet: %v: %s", err, &s.out)
	}
}

// What is refused leaves nothing in the queue. What can be checked without the server is checked before.
func TestWhatIsRefusedIsNotQueued(t *testing.T) {
	s := newSubmitter(t)
	valid := strings.ReplaceAll(manifest, "DIR", s.dir)
	offline := func(o *Options) { o.Server.URL = "nats://127.0.0.1:1" }
	for name, c := range map[string]struct {
		manifest string
		change   func(*Options)
		exit     event.Exit
		want     string
	}{
		"an invalid manifest":     {strings.Replace(valid, "prompt:", "promt:", 1), offline, event.ExitUsage, "1 problem: nothing was run"},
		"a path of this machine":  {strings.Replace(valid, `url: "file://`+s.dir+`/acme/web.git"`, "path: repo", 1), offline, event.ExitUsage, "1 problem: nothing was queued"},
		"an example of a profile": {strings.Replace(valid, "profile: edit", "profile: own\nprofiles: {own: {extends: edit, examples: [{allow: bash, subject: git push}]}}", 1), offline, event.ExitUsage, "1 policy example failed"},
		"an unknown model":        {strings.Replace(valid, "openai/gpt-5-mini", "nonesuch/x", 1), offline, event.ExitUsage, "nonesuch"},
		"a server that is down":   {valid, offline, event.ExitUnavailable, "nats://127.0.0.1:1"},
	} {
		s.write("m.yaml", c.manifest)
		_, err := s.submit(c.change)
		text := s.log.String()
		if err != nil {
			text += fmt.Sprint(err, fault.ProblemsOf(err))
		}
		if err == nil || fault.ExitOf(err) != c.exit || !strings.Contains(text, c.want) || s.out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s, %s", name, fault.ExitOf(err), text, &s.out)
		}
	}
	s.write("m.yaml", valid)
	if _, err := s.submit(nil); err != nil || !strings.HasPrefix(s.out.String(), "1 job queued, 1 wait") {
		t.Errorf("a refused run has left jobs: %v: %s", err, &s.out)
	}
}

// Two tasks that do the same have the same hash, and are two jobs of the queue.
func TestJobsHaveKeysOfTheirOwn(t *testing.T) {
	w := world.World{Getenv: func(string) string { return "" }, Now: time.Now}
	plan := &tasks.Plan{Jobs: []tasks.Job{
		{ID: "a", Hash: "h", SetupEnv: []string{"B_TOKEN", "A_TOKEN"}}, {ID: "b", Hash: "h", Needs: []string{"a"}}, {ID: "c", Hash: "h"}, {ID: "d", Hash: "i", Needs: []string{"b", "c"}},
	}}
	all := queuedJobs(w, plan, models.Of(w, plan))
	var got []string
	for _, j := range all {
		got = append(got, j.ID+" "+j.Key+" "+strings.Join(j.Needs, ","))
		if !slices.IsSortedFunc(j.Requires, slices.Compare) {
			t.Errorf("%s: %q", j.ID, j.Requires)
		}
	}
	if want := []string{"a h ", "b h-2 h", "c h-3 ", "d i h-2,h-3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResultOfASubmissionNamesTheRunsOfItsJobs(t *testing.T) {
	jobs := []queue.Job{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for want, c := range map[string]struct {
		done  queue.Submitted
		quiet bool
	}{
		"3 jobs queued\nnew\n": {done: queue.Submitted{Queued: 3}},
		"1 job already in the queue, by run old\n2 jobs queued, 1 wait for others\nnew\n":                         {done: queue.Submitted{Queued: 2, Waiting: 1, Present: map[string]int{"old": 1}}},
		"1 job already in the queue, by run old\n2 jobs already in the queue, by run other\n0 jobs queued\nold\n": {done: queue.Submitted{Present: map[string]int{"other": 2, "old": 1}}},
		"old\n": {done: queue.Submitted{Present: map[string]int{"old": 3}}, quiet: true},
		"new\n": {done: queue.Submitted{Queued: 1, Present: map[string]int{"old": 2}}, quiet: true},
	} {
		var out strings.Builder
		if printSubmitted(world.World{Out: &out}, Options{Quiet: c.quiet}, &queue.Run{ID: "new", Jobs: jobs}, &c.done); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// Workers read policies again, so that they have to be files that can be read twice.
func TestPoliciesAreFiles(t *testing.T) {
	s := newSubmitter(t)
	s.write("p.yaml", "version: 1\n")
	if !isRegular(filepath.Join(s.dir, "p.yaml")) || isRegular(s.dir) || isRegular(filepath.Join(s.dir, "missing")) {
		t.Error("not what the file system has")
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString("version: 1\n"); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.submit(func(o *Options) { o.Plan.Policies = []string{fmt.Sprintf("/dev/fd/%d", read.Fd())} })
	if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "is not a regular file") || !strings.HasSuffix(err.Error(), "; nothing was queued") {
		t.Errorf("%v", err)
	}
}
