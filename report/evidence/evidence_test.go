package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// reports is a report directory.
func reports() fstest.MapFS {
	all := fstest.MapFS{}
	for _, name := range []string{"report.json", "junit.xml", "patches/a.patch", "sessions/a/journal.jsonl", "outputs/a/1.txt", "findings.sarif", "events.jsonl", "run.lock", "evidence.intoto.json", "other/file"} {
		all[name] = &fstest.MapFile{Data: []byte("text of " + name), Mode: 0o644}
	}
	return all
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// run is a run of the jobs a, which committed, and b, which only has a patch.
func run(t *testing.T) (*event.Run, *report.Report) {
	t.Helper()
	start := reporttest.Planned("a", "b")
	start.Run.Policies = []event.PolicyFile{{Path: "policy.yaml", SHA256: "p"}}
	start.Run.StartedBy = &event.StartedBy{}
	start.Run.Evidence = &event.Evidence{Sign: "ssh", Manifests: []event.PolicyFile{{Path: "m.yaml", SHA256: "m"}}, Caps: map[string]event.Caps{"a": {Turns: 7}}}
	turn := func(number int, model, served, finish string) event.Event {
		return event.Event{Type: event.TurnEnded, Job: "a", Session: "s", Turn: &event.Turn{Number: number, Model: model, ModelServed: served, Finish: finish}}
	}
	call := func(id, effect, rule string) event.Event {
		e := reporttest.Called("s", 1, id, event.CallCompleted)
		if effect != "" {
			e.Call.Decision = &event.Decision{Effect: effect, Rule: rule, Source: "m.yaml:3"}
		}
		return e
	}
	verify := func(job, name string, attempt, exit int) event.Event {
		return event.Event{Type: event.VerifyEnded, Job: job, Verify: &event.Verify{Name: name, Attempt: attempt, Passed: exit == 0, ExitCode: exit}}
	}
	message := "Add a notice\n\n" + strings.Join([]string{trailers.Run.Of("r"), trailers.Job.Of("a"), trailers.Evidence.Of("sha256:e0")}, "\n") + "\n"
	rep := reporttest.Fold(t,
		start, reporttest.Started("a"), event.Event{Type: event.SessionStarted, Job: "a", Session: "s", SessionInfo: &event.Session{Agent: "build"}},
		call("1", "allow", "read: allow"), call("2", "deny", "bash: deny"), call("3", "allow", "read: allow"), call("4", "", ""),
		turn(1, "openai/b", "b-2026", "stop"), turn(2, "openai/a", "", "stop"), turn(3, "openai/a", "", "stop"), turn(4, "openai/none", "", ""),
		verify("a", "vet", 1, 1), verify("a", "test", 2, 0), verify("a", "vet", 2, 0),
		event.Event{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: "c0ffee", Branch: "millhand/a", Message: message}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 4}), reporttest.Started("b"),
		verify("b", "lint", 1, 1), reporttest.JobEnded("b", event.JobEnd{Outcome: event.Failed, Patch: "patches/a.patch"}), reporttest.RunEnded(event.Failed, event.ExitFailed),
	)
	return start.Run, rep
}

func TestASealNamesTheFilesOfARunInOrder(t *testing.T) {
	t.Parallel()
	start, rep := run(t)
	seal, err := Seal(reports(), []string{"other/file"}, start, rep, map[string]string{"a": "h"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range seal.Files {
		names = append(names, f.Name)
		if text := "text of " + f.Name; f.SHA256 != sum(text) || f.Bytes != int64(len(text)) {
			t.Errorf("%+v", f)
		}
	}
	if want := []string{"findings.sarif", "junit.xml", "other/file", "outputs/a/1.txt", "patches/a.patch", "report.json", "sessions/a/journal.jsonl"}; !reflect.DeepEqual(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	seal.Files = nil
	want := &event.Seal{
		Sign: "ssh", Heads: map[string]string{"a": "h"}, Manifests: start.Evidence.Manifests, Policies: start.Policies, Models: []string{"b-2026", "openai/a"}, StartedBy: start.StartedBy,
	}
	if diff := cmp.Diff(want, seal); diff != "" {
		t.Error(diff)
	}
}

func TestASealOfOtherThanFilesIsRefused(t *testing.T) {
	t.Parallel()
	start, rep := run(t)
	for name, c := range map[string]struct {
		edit   func(fstest.MapFS)
		others []string
		want   string
	}{
		"a symlink": {func(in fstest.MapFS) {
			in["patches/b"] = &fstest.MapFile{Data: []byte("a.patch"), Mode: fs.ModeSymlink}
		}, nil, "patches/b is not a regular file"},
		"a pipe":         {func(in fstest.MapFS) { in["patches/b"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} }, nil, "patches/b is not a regular file"},
		"a missing file": {func(fstest.MapFS) {}, []string{"none"}, "none: file does not exist"},
	} {
		files := reports()
		c.edit(files)
		if seal, err := Seal(files, c.others, start, rep, nil); seal != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, seal, err)
		}
	}
	if names, err := NamesOf(fstest.MapFS{}); len(names) > 0 || err != nil {
		t.Errorf("an empty directory: %q, %v", names, err)
	}
}

// decoded is a statement whose predicate is decoded.
type decoded[P any] struct {
	Type          string `json:"_type"`
	Subject       []Subject
	PredicateType string
	Predicate     P
}

func decode[P any](t *testing.T, text []byte) (s decoded[P]) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// subjects are the names and digests of subjects.
func subjects(all []Subject) (lines []string) {
	for _, s := range all {
		for kind, digest := range s.Digest {
			lines = append(lines, s.Name+" "+kind+" "+digest)
		}
	}
	return lines
}

func TestAStatementIsAboutTheCommitsTheEventsAndTheFiles(t *testing.T) {
	t.Parallel()
	start, rep := run(t)
	seal := &event.Seal{Heads: map[string]string{"a": "h"}, Manifests: start.Evidence.Manifests, Models: []string{"openai/a"}, Files: []event.SealedFile{{Name: "report.json", SHA256: "f"}}}
	text, err := NewStatement(start, seal, rep, Events{Lines: 9, Head: "last", SHA256: "all"})
	if err != nil {
		t.Fatal(err)
	}
	s := decode[Predicate](t, text)
	if s.Type != StatementType || s.PredicateType != RunPredicate || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"commit of a gitCommit c0ffee", "events.jsonl sha256 all", "report.json sha256 f"}, subjects(s.Subject)); diff != "" {
		t.Error(diff)
	}
	p := s.Predicate
	if p.Run.ID != "r" || p.Run.Outcome != event.Failed || p.Run.ExitCode != event.ExitFailed || p.Events != (Events{9, "last", "all"}) || len(p.Manifests) != 1 || len(p.Jobs) != 2 {
		t.Fatalf("%+v", p)
	}
	a, b := p.Jobs[0], p.Jobs[1]
	if a.ID != "a" || a.Outcome != event.Passed || a.Turns != 4 || a.Caps.Turns != 7 || a.Head != "h" || a.Sandbox != "A" || b.Outcome != event.Failed || b.Commit != nil || b.Head != "" {
		t.Errorf("jobs %+v, %+v", a, b)
	}
	if diff := cmp.Diff(&Commit{Hash: "c0ffee", Branch: "millhand/a", Evidence: "e0"}, a.Commit); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Decisions{{"allow", "read: allow", "m.yaml:3", 2}, {"deny", "bash: deny", "m.yaml:3", 1}}, a.Decisions); diff != "" {
		t.Error(diff)
	}
}

func TestACommitOfAnEarlierRunHasNoEvidenceOfThisOne(t *testing.T) {
	t.Parallel()
	maker := MakerOf("x\n\n" + trailers.Run.Of("r") + "\n" + trailers.Job.Of("a") + "\n" + trailers.Evidence.Of("sha256:e0") + "\n")
	if maker != (Maker{"r", "a", "e0"}) || maker.evidence("r") != "e0" || maker.evidence("r2") != "" || MakerOf("x") != (Maker{}) {
		t.Errorf("%+v", maker)
	}
}

func TestTestResultsAreThoseOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	start, rep := run(t)
	text, err := NewTests(reports(), start, rep)
	if err != nil {
		t.Fatal(err)
	}
	s := decode[Tests](t, text)
	want := Tests{Result: "FAILED", Configuration: []Subject{{"m.yaml", map[string]string{"sha256": "m"}}}, PassedTests: []string{"a: test", "a: vet"}, FailedTests: []string{"b: lint"}}
	if diff := cmp.Diff(want, s.Predicate); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"commit of a gitCommit c0ffee", "patches/a.patch sha256 " + sum("text of patches/a.patch")}, subjects(s.Subject)); s.PredicateType != TestPredicate || diff != "" {
		t.Error(s.PredicateType, diff)
	}
	rep.Jobs[1].Verify = nil
	if text, err = NewTests(reports(), start, rep); err != nil || decode[Tests](t, text).Predicate.Result != "PASSED" {
		t.Errorf("without the failed one: %s, %v", text, err)
	}
}

func TestThereAreNoTestResultsWithoutCommandsOrSubjects(t *testing.T) {
	t.Parallel()
	start, rep := run(t)
	rep.Jobs[0].Commit = nil
	if text, err := NewTests(fstest.MapFS{}, start, rep); text != nil || err != nil {
		t.Errorf("the patch is missing: %s, %v", text, err)
	}
	start, rep = run(t)
	rep.Jobs[0].Verify, rep.Jobs[1].Verify = nil, nil
	if text, err := NewTests(reports(), start, rep); text != nil || err != nil {
		t.Errorf("no verify commands: %s, %v", text, err)
	}
}

func TestEventsAreDescribedByTheirChain(t *testing.T) {
	t.Parallel()
	chain := &event.Chain{}
	got, err := EventsOf(reports(), chain)
	if want := (Events{chain.Lines(), chain.Head(), sum("text of events.jsonl")}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := EventsOf(fstest.MapFS{}, chain); err == nil {
		t.Error("events that are missing are no error")
	}
	for name, want := range map[string]bool{"outputs/a": true, "./outputs/a": true, "outputs": false, "outputs.txt": false, "patches/outputs/a": false} {
		if IsOutput(name) != want {
			t.Errorf("%s is an output: %t", name, !want)
		}
	}
}
