package site

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestSecretsOfTheConfigurationAreHeldAndHidden(t *testing.T) {
	s := setUp(t)
	secret := base64.StdEncoding.EncodeToString([]byte("x-access-token:key-of-the-checkout"))
	git(t, s.repo, "config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic "+secret)
	spec := s.job("a")
	j := s.begin(&tasks.Plan{}, spec)
	if got := strings.Join(s.opts.Preflight.Secrets(), "\n"); got != "key-of-the-checkout" {
		t.Errorf("secrets %q", got)
	}
	s.prepared(j)
	config := func() string {
		text, err := os.ReadFile(filepath.Join(s.repo, ".git", "config"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if strings.Contains(config(), secret) {
		t.Errorf("commands can read it:\n%s", config())
	}
	if err := j.run.headers.Hide(t.Context(), j.Start.Origin.Git); err != nil {
		t.Errorf("a second job: %v", err)
	}
	j.run.Close(t.Context())
	if !strings.Contains(config(), secret) || s.warnings() != "" {
		t.Errorf("it is not restored (%s):\n%s", s.warnings(), config())
	}
}
