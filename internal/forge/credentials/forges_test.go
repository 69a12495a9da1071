package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/tasks"
)

// An entry's token goes to its host alone, and before the tokens of the environment.
func TestEntriesOfForges(t *testing.T) {
	env := map[string]string{
		TokenVariable: "mine", "GITHUB_TOKEN": "gh", "OWN": "own", "CI_JOB_TOKEN": "job", "GITLAB_TOKEN": "gl",
	}
	f := NewForges([]tasks.Forge{
		{Host: "github.com", Kind: tasks.GitHub, TokenEnv: "OWN"},
		{Host: "gitlab.com", Kind: tasks.GitLab},
		{Host: "gl.example.com", Kind: tasks.GitLab, TokenEnv: "OWN"},
		{Host: "ci.example.com", Kind: tasks.GitLab, TokenEnv: "CI_JOB_TOKEN"},
		{Host: "gt.example.com:3000", Kind: tasks.Gitea, TokenEnv: "OWN"},
	}, Options{Getenv: func(name string) string { return env[name] }})
	const other = "https://git.example.com/a/b"
	urls := []string{"https://github.com/a/b", other, "https://gl.example.com/a/b"} // one of them is left for the environment's
	auth, err := f.ForRemotes(urls)
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://github.com/a/b":            "own ",
		"https://GitHub.com:443/a/b":        "own ",
		"https://github.com.evil.example/x": " ",
		"https://gitlab.com/a/b":            "gl oauth2",
		"https://gl.example.com/a/b":        "own oauth2",
		"https://gl.example.com:8443/a/b":   " ",
		"https://ci.example.com/a/b":        "job gitlab-ci-token",
		"https://gt.example.com:3000/a/b":   "own ",
		"https://gt.example.com/a/b":        " ",
		other:                               "mine ",
		"git@github.com:a/b":                " ",
	} {
		if got := auth(url); got.Token+" "+got.User != want {
			t.Errorf("%s gets %q, %q, want %q", url, got.Token, got.User, want)
		}
	}
	for host, want := range map[string]string{"github.com": "own", "gitlab.com": "gl", "git.example.com": "mine", "evil.example": "", "gt.example.com:3000": "own"} {
		if got, err := f.Token(t.Context(), host, "a"); got != want || err != nil {
			t.Errorf("the API of %s gets %q (%v), want %q", host, got, err, want)
		}
	}
}

func TestTheVariableOfAnEntryMustBeSet(t *testing.T) {
	f := NewForges([]tasks.Forge{{Host: "gitlab.com", Kind: tasks.GitLab, TokenEnv: "OWN", Source: "m.yaml:7"}}, Options{Getenv: func(string) string { return "" }})
	if _, err := f.ForRemotes([]string{"https://github.com/a/b"}); err != nil {
		t.Error(err)
	}
	const want = "token of gitlab.com not found: set the environment variable OWN (m.yaml:7)"
	if _, err := f.ForRemotes([]string{"https://gitlab.com/a/b"}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := f.Token(t.Context(), "gitlab.com", "a"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A command's token is shared by the remotes and the API, until one of them rejects it.
func TestTokensOfACommand(t *testing.T) {
	dir := t.TempDir()
	var held []string
	f := NewForges([]tasks.Forge{{
		Host: "gitlab.com", Kind: tasks.GitLab, Source: "m.yaml:7",
		Key: &tasks.KeySource{Command: []string{"sh", "-c", `echo x >>runs; [ -e broken ] && exit 3; echo "token-$(grep -c . runs)"`}, Dir: dir},
	}}, Options{
		Getenv: func(string) string { return "" }, Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now,
		Hold: func(token string) { held = append(held, token) },
	})
	next := func(want string) {
		t.Helper()
		if got, err := f.Token(t.Context(), "gitlab.com", "a"); got != want || err != nil {
			t.Errorf("the token is %q (%v), want %q", got, err, want)
		}
	}
	auth, err := f.ForRemotes([]string{"https://gitlab.com/a/b"})
	if err != nil {
		t.Fatal(err)
	}
	next("token-1")
	a := auth("https://gitlab.com/a/b")
	if got, err := a.Keys.Key(t.Context()); got != "token-1" || a.User != "oauth2" || err != nil {
		t.Errorf("a remote gets %q as %q (%v)", got, a.User, err)
	}
	f.Reject(t.Context(), "gitlab.com", "a", "token-1")
	f.Reject(t.Context(), "gitlab.com", "b", "token-1")
	next("token-2")
	if auth("https://github.com/a/b").Keys != nil {
		t.Error("another host gets a token")
	}
	if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Reject(t.Context(), "gitlab.com", "a", "token-2")
	_, err = f.Token(t.Context(), "gitlab.com", "a")
	if err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "gitlab.com in forges: its key_command (m.yaml:7)") {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(held, " "); got != "token-1 token-2" {
		t.Errorf("held %s", got)
	}
}

func TestKinds(t *testing.T) {
	entries := []tasks.Forge{{Host: "git.example.com", Kind: tasks.Gitea}, {Host: "gitlab.com", Kind: tasks.GitLab}}
	for _, c := range []struct {
		env  map[string]string
		host string
		want tasks.ForgeKind
	}{
		{nil, "git.example.com", tasks.Gitea},
		{nil, "GIT.example.com:443", tasks.Gitea},
		{nil, "git.example.com:8443", ""},
		{nil, "GitHub.com", tasks.GitHub},
		{nil, "codeberg.org:443", tasks.Gitea},
		{map[string]string{"GITHUB_SERVER_URL": "https://ghe.example.com"}, "ghe.example.com", tasks.GitHub},
		{map[string]string{"GITHUB_SERVER_URL": "https://gt.example.com", "GITEA_ACTIONS": "true"}, "gt.example.com", tasks.Gitea},
		{map[string]string{"GITHUB_SERVER_URL": "https://fj.example.com", "FORGEJO_ACTIONS": "true"}, "fj.example.com", tasks.Gitea},
		{map[string]string{"GITEA_SERVER_URL": "https://gt.example.com:3000"}, "gt.example.com:3000", tasks.Gitea},
		{map[string]string{"CI_SERVER_URL": "https://gl.example.com"}, "gl.example.com", tasks.GitLab},
		{map[string]string{"CI_SERVER_URL": "http://localhost:3000"}, "localhost:3000", tasks.GitLab},
		{map[string]string{"CI_SERVER_URL": "https://gl.example.com"}, "other.example.com", ""},
	} {
		f := NewForges(entries, Options{Getenv: func(name string) string { return c.env[name] }})
		if got := f.Kind(c.host); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.host, c.env, got, c.want)
		}
	}
}

// Repositories are listed before the URLs of a run are known.
func TestTokensBeforeTheRemotesAreKnown(t *testing.T) {
	for hosts, want := range map[string]string{"": "", "git.example.com": "mine", "other.example.com": "", "*": ""} {
		env := map[string]string{TokenVariable: "mine", gitHosts: hosts}
		f := environment(env, false)
		if got, err := f.Token(t.Context(), "git.example.com", "a"); got != want || err != nil {
			t.Errorf("%q: token %q (%v), want %q", hosts, got, err, want)
		}
	}
}
