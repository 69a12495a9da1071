package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CopyExample copies an example's directory, with texts in the files at its top replaced.
func CopyExample(t *testing.T, name, to string, oldnew ...string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join(Root(t), "examples", name))); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		path := filepath.Join(to, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(oldnew...).Replace(string(text))), 0o600); err != nil { // keeps the mode
			t.Fatal(err)
		}
	}
}

// MakeRepo makes a repository of files with one commit, on branch main.
func MakeRepo(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	Git(t, dir, "init", "-q", "-b", "main")
	Git(t, dir, "add", "-A")
	Git(t, dir, "-c", "user.name=Tess", "-c", "user.email=tess@example.com", "commit", "-q", "-m", "start")
}

// Git runs git in a directory and returns its output.
func Git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
