package remote

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestRemoteURLsAreThoseOfGit(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	for n, settings := range [][]string{
		{"remote.origin.url", "https://example.com/a"},
		{"remote.origin.url", "https://example.com/a", "remote.origin.pushurl", "git@example.com:a"},
		{"remote.origin.url", "https://example.com/a", "url.git@example.com:.insteadOf", "https://example.com/"},
		{"remote.origin.url", "https://example.com/a", "url.git@example.com:.pushInsteadOf", "https://example.com/"},
		{"remote.origin.url", "https://example.com/a", "url.ssh://x/.pushInsteadOf", "https://", "url.ssh://y/.pushInsteadOf", "https://example.com/"},
		{"remote.origin.url", "ex:a", "remote.origin.pushurl", "ey:a", "url.https://x/.insteadOf", "ey:", "url.https://y/.pushInsteadOf", "ey:"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := gittest.NewSandbox(t)
			for i := 0; i < len(settings); i += 2 {
				where := "--local"
				if strings.HasPrefix(settings[i], "url.") {
					where = "--global"
				}
				s.Run("config", where, settings[i], settings[i+1])
			}
			want := s.Run("remote", "get-url", "--push", "origin")
			git := open(t, s)
			s.Run("config", "remote.origin.pushurl", "https://evil.example.com/a")
			if got, err := PushURL(git, "origin"); err != nil || got != want {
				t.Errorf("%q (%v), want %q", got, err, want)
			}
		})
	}
	if _, err := PushURL(open(t, s), "origin"); !errors.Is(err, ErrNoRemote) {
		t.Error(err)
	}
	s.Run("remote", "add", "origin", "../other.git")
	if got, err := PushURL(open(t, s), "origin"); err != nil || got != filepath.Join(filepath.Dir(s.Root), "other.git") {
		t.Errorf("%q, %v", got, err)
	}
}
