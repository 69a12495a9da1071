package repos

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/tasks"
)

func signedBy(signs ...tasks.Sign) *tasks.Plan {
	plan := &tasks.Plan{}
	for i, s := range signs {
		plan.Jobs = append(plan.Jobs, tasks.Job{ID: fmt.Sprint(i), Commit: &tasks.Commit{Sign: s}})
	}
	return plan
}

func TestRunHasOneKeyForAllSignatures(t *testing.T) {
	w := world.World{Now: time.Now, Getenv: func(string) string { return "" }}
	unsigned := signedBy(tasks.SignSSH)
	unsigned.Jobs[0].Publish = tasks.PublishPatch // no commit is made
	for name, tt := range map[string]struct {
		plan *tasks.Plan
		want string // "" if no key is needed
		exit event.Exit
	}{
		"no signature":     {signedBy(""), "", event.ExitOK},
		"only a patch":     {unsigned, "", event.ExitOK},
		"a missing key":    {signedBy(tasks.SignSSH, "", tasks.SignSSH), "commit.sign: ", event.ExitAuth},
		"two formats":      {signedBy(tasks.SignSSH, tasks.SignOpenPGP), "must use the same format, not ssh and openpgp", event.ExitUsage},
		"evidence":         {&tasks.Plan{Evidence: &tasks.Evidence{Sign: tasks.SignSSH}}, "evidence.sign: ", event.ExitAuth},
		"evidence and PGP": {&tasks.Plan{Jobs: signedBy(tasks.SignOpenPGP).Jobs, Evidence: &tasks.Evidence{Sign: tasks.SignSSH}}, "can't be combined with commit.sign: openpgp", event.ExitUsage},
	} {
		key, err := Key(t.Context(), w, tt.plan)
		if key != nil || fault.ExitOf(err) != tt.exit || (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestCommitsAreSignedByTheKeyAndItsCommitter(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{signing.KeyVariable: file, "GIT_COMMITTER_NAME": "Mill", "GIT_COMMITTER_EMAIL": "mill@example.com"}
	w := world.World{Now: time.Now, Getenv: func(name string) string { return env[name] }}
	if s := Signing(w, nil); s.Sign != nil || s.KeyFile != "" || s.Committer != (gitops.Signature{}) {
		t.Errorf("without a key: %+v", s)
	}
	for name, plan := range map[string]*tasks.Plan{
		"commits":              signedBy(tasks.SignSSH, tasks.SignSSH),
		"evidence":             {Evidence: &tasks.Evidence{Sign: tasks.SignSSH}},
		"commits and evidence": {Jobs: signedBy(tasks.SignSSH).Jobs, Evidence: &tasks.Evidence{Sign: tasks.SignSSH}},
	} {
		key, err := Key(t.Context(), w, plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := Signing(w, key)
		text, err := s.Sign(t.Context(), []byte("tree 0\n"))
		if err != nil || !strings.HasPrefix(text, "-----BEGIN SSH SIGNATURE-----") || s.KeyFile != file || s.Committer != (gitops.Signature{Name: "Mill", Email: "mill@example.com"}) {
			t.Errorf("%s: signature %q, %v, key %s, committer %+v", name, text, err, s.KeyFile, s.Committer)
		}
	}
	key, err := Key(t.Context(), w, signedBy(tasks.SignSSH))
	if err != nil {
		t.Fatal(err)
	}
	stage := newStage(t)
	if _, ready, err := stage.check(t.Context(), stage.plan("a"), Run{ID: "r", Key: key}, true); err != nil || ready.Signing.KeyFile != file {
		t.Errorf("the key of a run is %q, %v", ready.Signing.KeyFile, err)
	}
	skipped := signedBy(tasks.SignSSH)
	skipped.Jobs[0].Skip = "its condition is false"
	env[signing.KeyVariable] = ""
	if key, err := Key(t.Context(), w, skipped); key != nil || err != nil {
		t.Errorf("a job that is not run: %v, %v", key, err)
	}
}
