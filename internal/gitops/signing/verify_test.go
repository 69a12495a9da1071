package signing

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

func signers(tb testing.TB) map[string]ssh.Signer {
	tb.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]ssh.Signer{}
	for name, key := range map[string]any{"ed25519": ed, "ecdsa": ec, "rsa": rs} {
		if all[name], err = ssh.NewSignerFromKey(key); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

func line(options string, s ssh.Signer) string {
	return strings.TrimSpace("ann@example.com "+options) + " " + string(ssh.MarshalAuthorizedKey(s.PublicKey()))
}

func TestSignaturesAreVerified(t *testing.T) {
	message := []byte("statement\n")
	for name, s := range signers(t) {
		text, err := signSSH(s, "evidence", message)
		if err != nil {
			t.Fatal(err)
		}
		allowed, err := ParseAllowedSigners([]byte("# comment\n\n" + line(`namespaces="evi*,git"`, s)))
		if err != nil {
			t.Fatal(err)
		}
		who, err := VerifySSH("evidence", message, []byte(text), allowed, time.Now())
		if err != nil || who.Principal != "ann@example.com" || who.Key != ssh.FingerprintSHA256(s.PublicKey()) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if _, err := VerifySSH("evidence", append(message, 'x'), []byte(text), allowed, time.Now()); err == nil {
			t.Errorf("%s: the signature fits another message", name)
		}
		if _, err := VerifySSH("git", message, []byte(text), allowed, time.Now()); err == nil || !strings.Contains(err.Error(), `for the namespace "evidence" instead of "git"`) {
			t.Errorf("%s: another namespace: %v", name, err)
		}
		for at := range text {
			changed := []byte(text)
			changed[at] ^= 1
			if _, err := VerifySSH("evidence", message, changed, allowed, time.Now()); err == nil {
				t.Errorf("%s: byte %d of the signature can be changed", name, at)
			}
		}
	}
}

// Signatures of ssh-keygen are accepted, and it accepts ours.
func TestSignaturesAreThoseOfKeygen(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen not found")
	}
	dir := t.TempDir()
	keygen := func(stdin []byte, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
		}
		return out
	}
	message := []byte("statement\n")
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		keygen(nil, "-q", "-t", kind, "-N", "", "-f", kind)
		public := read(t, filepath.Join(dir, kind+".pub"))
		allowedFile := filepath.Join(dir, "allowed")
		if err := os.WriteFile(allowedFile, append([]byte("ann@example.com "), public...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, kind+".txt"), message, 0o600); err != nil {
			t.Fatal(err)
		}
		keygen(nil, "-q", "-Y", "sign", "-f", kind, "-n", "evidence", kind+".txt")
		allowed, err := ParseAllowedSigners(read(t, allowedFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifySSH("evidence", message, read(t, filepath.Join(dir, kind+".txt.sig")), allowed, time.Now()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		key, err := ssh.ParsePrivateKey(read(t, filepath.Join(dir, kind)))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := signSSH(key, "evidence", message)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ours"), []byte(ours), 0o600); err != nil {
			t.Fatal(err)
		}
		keygen(message, "-Y", "verify", "-f", "allowed", "-I", "ann@example.com", "-n", "evidence", "-s", "ours")
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAllowedSigners(t *testing.T) {
	s := signers(t)["ed25519"]
	text, err := signSSH(s, "evidence", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct{ file, want string }{
		{line("", s), ""},
		{line(`valid-after="20260101Z",valid-before="20260103Z"`, s), ""},
		{line(`valid-after=202601020305Z`, s), "was not an allowed signer at 2026-01-02T03:04:05Z"},
		{line(`valid-before="20260102030405Z"`, s), "was not an allowed signer"},
		{line(`namespaces="git,file"`, s) + line("", s), ""},
		{line(`namespaces="git,file"`, s), "is not an allowed signer for the namespace evidence"},
		{`"ann@example.com,bob@example.com" ` + string(ssh.MarshalAuthorizedKey(s.PublicKey())), ""},
		{"", "is not an allowed signer"},
		{"ann@example.com\n", "line 1: must be PRINCIPALS"},
		{"# x\n\"ann@example.com ssh-ed25519 AAAA\n", "line 2: missing closing quote"},
		{line("cert-authority", s), `line 1: option "cert-authority" is not supported`},
		{line("valid-after=2026", s), `line 1: invalid time "2026"`},
	} {
		allowed, err := ParseAllowedSigners([]byte(tt.file))
		if err == nil {
			_, err = VerifySSH("evidence", nil, []byte(text), allowed, at)
		}
		if err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", tt.file, err, tt.want)
		}
	}
}

// FuzzVerifySSH verifies signatures of whoever with files of allowed signers of whoever. Only the
// canonical form of a signature of an allowed key is valid.
func FuzzVerifySSH(f *testing.F) {
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))) // the same in all processes of the fuzzer
	if err != nil {
		f.Fatal(err)
	}
	text, err := signSSH(s, "evidence", []byte("message"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text), []byte(line("", s)))
	f.Add([]byte(text), []byte(line(`namespaces="*",valid-after="20260101"`, s)))
	f.Fuzz(func(t *testing.T, signature, file []byte) {
		allowed, err := ParseAllowedSigners(file)
		if err != nil {
			return
		}
		if _, err := VerifySSH("evidence", []byte("message"), signature, allowed, time.Now()); err == nil && string(signature) != text {
			t.Errorf("%q is valid", signature)
		}
	})
}
