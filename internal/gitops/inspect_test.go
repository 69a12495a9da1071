package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHas(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "1\n", "d/e/f", "1\n", "empty", "")
	commit := s.commit()
	r := s.open()
	for name, want := range map[string]bool{
		"": true, ".": true, "a": true, "d": true, "d/e": true, "d/e/f": true, "empty": true,
		"b": false, "a/b": false, "d/e/f/g": false, "d/x": false, "A": false,
	} {
		if got, err := r.Has(commit, name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"/a", "d/", "./a", "../a", "..", "d//e"} {
		if _, err := r.Has(commit, bad); err == nil {
			t.Errorf("%q is a good path", bad)
		}
	}
	if _, err := r.Has(strings.Repeat("1", 40), "a"); err == nil {
		t.Error("a commit that is missing has something")
	}
	if _, err := r.Message(strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is missing has a message")
	}
}

func TestFilteredPathsAreThoseOfGit(t *testing.T) {
	s := newSandbox(t)
	s.write(
		".gitattributes", "[attr]big filter=lfs -text\n*.bin big\n/d/*.x filter=y\nvendor/** filter=z\n",
		"d/.gitattributes", "plain.bin -filter\nunset.bin !filter\n*.t filter=t\n",
		"a.bin", "1", "d/plain.bin", "1", "d/unset.bin", "1", "d/q.x", "1", "d/e/q.x", "1", "d/e/s.t", "1", "q.x", "1", "s.t", "1",
		"vendor/v", "1", "d.bin/u", "1", "é.bin", "1", "info.i", "1",
	)
	s.link("a.bin", "link.bin")
	must(t, os.WriteFile(filepath.Join(s.root, ".git", "info", "attributes"), []byte("*.i filter=i\n"), 0o644))
	commit := s.commit()
	var want []string
	files := strings.Split(s.run("-c", "core.quotePath=false", "ls-files"), "\n")
	for line := range strings.SplitSeq(s.run(append([]string{"-c", "core.quotePath=false", "check-attr", "filter", "--"}, files...)...), "\n") {
		name, value, _ := strings.Cut(line, ": filter: ")
		if value != "unspecified" && value != "unset" && name != "link.bin" {
			want = append(want, name)
		}
	}
	r := s.open()
	got, err := r.FilteredPaths(t.Context(), commit, nil, 100)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = r.FilteredPaths(t.Context(), commit, []string{"vendor", "**/*.bin"}, 2)
	if diff := cmp.Diff([]string{"d/e/s.t", "d/q.x"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := r.FilteredPaths(t.Context(), commit, []string{"["}, 2); err == nil {
		t.Error("a bad glob is accepted")
	}
}

func TestRemoteURLsAreThoseOfGit(t *testing.T) {
	s := newSandbox(t)
	for n, settings := range [][]string{
		{"remote.origin.url", "https://example.com/a"},
		{"remote.origin.url", "https://example.com/a", "remote.origin.pushurl", "git@example.com:a"},
		{"remote.origin.url", "https://example.com/a", "url.git@example.com:.insteadOf", "https://example.com/"},
		{"remote.origin.url", "https://example.com/a", "url.git@example.com:.pushInsteadOf", "https://example.com/"},
		{"remote.origin.url", "https://example.com/a", "url.ssh://x/.pushInsteadOf", "https://", "url.ssh://y/.pushInsteadOf", "https://example.com/"},
		{"remote.origin.url", "ex:a", "remote.origin.pushurl", "ey:a", "url.https://x/.insteadOf", "ey:", "url.https://y/.pushInsteadOf", "ey:"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSandbox(t)
			for i := 0; i < len(settings); i += 2 {
				where := "--local"
				if strings.HasPrefix(settings[i], "url.") {
					where = "--global"
				}
				s.run("config", where, settings[i], settings[i+1])
			}
			want := s.run("remote", "get-url", "--push", "origin")
			r := s.open()
			s.run("config", "remote.origin.pushurl", "https://evil.example.com/a")
			if got, err := r.RemoteURL("origin"); err != nil || got != want {
				t.Errorf("%q (%v), want %q", got, err, want)
			}
		})
	}
	if _, err := s.open().RemoteURL("origin"); !errors.Is(err, ErrNoRemote) {
		t.Error(err)
	}
	s.run("remote", "add", "origin", "../other.git")
	if got, err := s.open().RemoteURL("origin"); err != nil || got != filepath.Join(filepath.Dir(s.root), "other.git") {
		t.Errorf("%q, %v", got, err)
	}
}
