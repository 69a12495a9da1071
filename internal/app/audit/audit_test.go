package audit

import (
	"crypto/ed25519"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/report/evidence"
)

func testWorld(t *testing.T) (world.World, *strings.Builder) {
	t.Helper()
	out, home := &strings.Builder{}, t.TempDir()
	return world.World{Out: out, Err: &strings.Builder{}, Now: time.Now, Getenv: func(name string) string {
		return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
	}}, out
}

func TestDirectoryWithoutEvidenceFails(t *testing.T) {
	for _, json := range []bool{false, true} {
		w, out := testWorld(t)
		dir := t.TempDir()
		err := Verify(t.Context(), w, Options{Dir: dir, JSON: json})
		if fault.ExitOf(err) != event.ExitFailed || !strings.HasPrefix(out.String(), map[bool]string{false: "FAILED ", true: "{"}[json]) {
			t.Errorf("%v: %s", err, out)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("the report directory has %v, %v", entries, err)
		}
	}
}

func TestWhatCannotBeReadIsAMistakeOfTheCommandLine(t *testing.T) {
	w, out := testWorld(t)
	dir := t.TempDir()
	for want, o := range map[string]Options{
		"open the report directory":   {Dir: filepath.Join(dir, "missing")},
		"--repo " + dir:               {Dir: dir, Repos: []string{dir}},
		"--allowed-signers missing: ": {Dir: dir, Signers: "missing"},
	} {
		if err := Verify(t.Context(), w, o); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("got %v, want %q; printed %q", err, want, out)
		}
	}
}

func TestCommitsOfWorkTreesAndBareRepositoriesAreFound(t *testing.T) {
	w, _ := testWorld(t)
	s := gittest.NewSandbox(t)
	s.Write("a", "1")
	commit := s.Commit()
	bare := filepath.Join(t.TempDir(), "bare.git")
	s.Run("clone", "-q", "--bare", ".", bare)
	below := filepath.Join(s.Root, "below")
	if err := os.Mkdir(below, 0o755); err != nil { //nolint:gosec // the test
		t.Fatal(err)
	}
	for _, at := range []string{s.Root, bare, below} {
		repo, err := openOrFetch(t.Context(), w, at)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		missing := strings.Repeat("0", 40)
		found := commitsOf(t.Context(), at, repo, time.Unix(0, 0), []string{commit, missing})
		if !found.Has[commit] || found.Has[missing] {
			t.Errorf("%s: found %v", at, found.Has)
		}
		if found.Err != nil || len(found.Messages) != 1 {
			t.Errorf("%s: commits %v, %v", at, found.Messages, found.Err)
		}
	}
}

// signer returns a key, and its public half in the format of allowed signers.
func signer(t *testing.T, name string) (key *signing.Key, allowed string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{signing.KeyVariable: string(pem.EncodeToMemory(block))}
	if key, err = signing.Open(t.Context(), signing.SSH, func(name string) string { return env[name] }, time.Now); err != nil {
		t.Fatal(err)
	}
	shown, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key, name + " " + string(ssh.MarshalAuthorizedKey(shown))
}

func TestOnlyAllowedSignersAreAccepted(t *testing.T) {
	key, allowed := signer(t, "ann@example.org")
	_, other := signer(t, "bob@example.org")
	message := []byte("evidence")
	signature, err := key.SignAs(t.Context(), evidence.Namespace, message)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		signers, who string
		accepted     bool
	}{{"", "", true}, {allowed, "ann@example.org", true}, {other, "", false}} {
		file := ""
		if tt.signers != "" {
			file = filepath.Join(t.TempDir(), "allowed")
			if err := os.WriteFile(file, []byte(tt.signers), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		signers, err := allowedSigners(file)
		if err != nil {
			t.Fatal(err)
		}
		who, err := signing.VerifySSH(evidence.Namespace, message, []byte(signature), signers, time.Now())
		if (err == nil) != tt.accepted || who.Principal != tt.who || tt.accepted && who.Key == "" {
			t.Errorf("%q: %+v, %v", tt.signers, who, err)
		}
		if _, err := signing.VerifySSH(evidence.Namespace, []byte("changed"), []byte(signature), signers, time.Now()); err == nil {
			t.Errorf("%q: a changed text is accepted", tt.signers)
		}
	}
}
