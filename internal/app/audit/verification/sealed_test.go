package verification_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/millhand/millhand/internal/app/audit/verification"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/report"
)

const runID = "20260102-030405-1a2b3c4d"

// owner is somebody who can sign.
type owner struct {
	key     *signing.Key
	allowed *signing.AllowedSigners
}

func newOwner(tb testing.TB, name string) owner {
	tb.Helper()
	seed := sha256.Sum256([]byte(name)) // the same in all processes of the fuzzer
	private := ed25519.NewKeyFromSeed(seed[:])
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	key, err := signing.Open(tb.Context(), signing.SSH, func(name string) string {
		if name == signing.KeyVariable {
			return string(pem.EncodeToMemory(block))
		}
		return ""
	}, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	line, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	allowed, err := signing.ParseAllowedSigners([]byte("ann@example.com " + string(ssh.MarshalAuthorizedKey(line))))
	if err != nil {
		tb.Fatal(err)
	}
	return owner{key, allowed}
}

// ran is a run that has ended: its files, and the commits that its repository has.
type ran struct {
	files   fstest.MapFS
	commits map[string]string
}

// facts are what a run has recorded.
type facts struct {
	cost     money.USD
	rule     string
	key      *signing.Key // nil for no signature
	outcomes [2]event.Outcome
}

func honest() facts {
	return facts{cost: 1_500_000, rule: "edit: *", outcomes: [2]event.Outcome{event.Passed, event.Failed}}
}

// record runs two jobs of which the first commits, as package runner does.
func record(tb testing.TB, f facts) ran {
	tb.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := func() time.Time { at = at.Add(time.Millisecond); return at }
	dir := filepath.Join(tb.TempDir(), "out")
	out, err := rundir.Claim(tb.Context(), "", dir, runID, clock.Clock{Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	out.Prove(f.key)
	if err := out.Begin(runID, sandbox.None, nil, 2); err != nil {
		tb.Fatal(err)
	}
	log, fold := out.Log(), &report.Fold{}
	stream := event.NewStream(now, log, fold)
	sign := "none"
	if f.key != nil {
		sign = "ssh"
	}
	stream.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{
		ID: runID, Manifest: []string{"m.yaml"}, PlanHash: "p", Version: "1.0.0",
		Jobs:     []event.PlannedJob{{ID: "one", Task: "one", Repo: "shop", Model: "openai/m"}, {ID: "two", Task: "two", Repo: "shop", Model: "openai/m"}},
		Policies: []event.PolicyFile{{Path: "policy.yaml", SHA256: strings.Repeat("b", 64)}}, StartedBy: &event.StartedBy{CI: "github", Actor: "ann", RunURL: "https://ci.example.com/1"},
		Evidence: &event.Evidence{Sign: sign, Manifests: []event.PolicyFile{{Path: "m.yaml", SHA256: strings.Repeat("a", 64)}}, Caps: map[string]event.Caps{"one": {CostUSD: 2_000_000, Turns: 9}}},
	}})
	got := ran{files: fstest.MapFS{}, commits: map[string]string{}}
	for i, job := range []string{"one", "two"} {
		emit := func(e event.Event) { e.Job = job; stream.Emit(e) }
		session := runID + "/" + job
		emit(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{Base: strings.Repeat("0", 39) + "1", Sandbox: event.Sandbox{Level: "A"}}})
		emit(event.Event{Type: event.SessionStarted, Session: session, SessionInfo: &event.Session{Agent: "build", Model: "openai/m"}})
		emit(event.Event{Type: event.TurnStarted, Session: session, Turn: &event.Turn{Number: 1}})
		emit(event.Event{Type: event.CallUpdated, Session: session, Call: &event.Call{
			ID: "c", Turn: 1, Tool: "edit", Status: event.CallCompleted, Input: []byte(`{"filePath":"a"}`), Decision: &event.Decision{Effect: "allow", Rule: f.rule, Source: "m.yaml:3"},
		}})
		emit(event.Event{Type: event.TurnEnded, Session: session, Turn: &event.Turn{Number: 1, ModelServed: "m-2026", Finish: "stop", CostUSD: &f.cost}})
		emit(event.Event{Type: event.VerifyEnded, Verify: &event.Verify{Name: "tests", Attempt: 1, Passed: f.outcomes[i] == event.Passed, In: event.InWorkspace}})
		for name, text := range map[string]string{"patches/" + job + ".patch": "diff of " + job + "\n", "outputs/" + job + "/c.txt": "output\n"} {
			if err := out.Files().WriteAtomic(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
				tb.Fatal(err)
			}
		}
		if f.outcomes[i] == event.Passed {
			message := fmt.Sprintf("note\n\nMillhand-Run: %s\nMillhand-Job: %s\nMillhand-Evidence: sha256:%s\n", runID, job, log.Head(job))
			c := event.Commit{Hash: strings.Repeat("c", 39) + fmt.Sprint(i), Branch: "millhand/" + job, Message: message}
			emit(event.Event{Type: event.CommitStarted, Commit: &event.Commit{Branch: c.Branch, Message: message}})
			emit(event.Event{Type: event.Committed, Commit: &c})
			got.commits[c.Hash] = message
		}
		emit(event.Event{Type: event.SessionEnded, Session: session, SessionInfo: &event.Session{Agent: "build", Model: "openai/m", End: "completed"}})
		emit(event.Event{Type: event.JobEnded, JobEnd: &event.JobEnd{Outcome: f.outcomes[i], Attempts: 1, Turns: 1, CostUSD: &f.cost, Patch: "patches/" + job + ".patch"}})
	}
	stream.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ExitCode: event.ExitFailed}})
	if err := out.Finish(tb.Context(), stream.Emit, log, fold, func() error { return nil }); err != nil {
		tb.Fatal(err)
	}
	got.load(tb, out.Files().FS())
	return got
}

// load reads all files that evidence is about into memory, where they can be changed.
func (r ran) load(tb testing.TB, files fs.FS) {
	tb.Helper()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "run.lock" {
			return err
		}
		text, err := fs.ReadFile(files, name)
		r.files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// repo is the repository with the commits, and with their base.
func (r ran) repo() verification.Repo {
	repo := verification.Repo{Name: "shop", Messages: r.commits, Has: map[string]bool{strings.Repeat("0", 39) + "1": true}}
	for commit := range r.commits {
		repo.Has[commit] = true
	}
	return repo
}

// verify verifies files with the signers that are allowed, which may be nil, and repositories.
func verify(files fs.FS, allowed *signing.AllowedSigners, repos ...verification.Repo) verification.Result {
	v := verification.Verify(verification.Options{Files: files, Version: "1.0.0", Formats: rundir.Formats(files), Signers: allowed})
	if _, ok := v.Since(); ok {
		for _, r := range repos {
			v.Compare(r)
		}
	}
	return v.Result()
}
