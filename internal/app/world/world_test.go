package world

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func of(env map[string]string) World {
	return World{Getenv: func(name string) string { return env[name] }}
}

func TestDirectoriesFollowTheEnvironment(t *testing.T) {
	for _, tt := range []struct {
		env          map[string]string
		cache, state string // "" for a cache below the current directory, and an error
	}{
		{map[string]string{"HOME": "/home/u"}, "/home/u/.cache/millhand", "/home/u/.local/state/millhand"},
		{map[string]string{"HOME": "/home/u", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/millhand", "/s/millhand"},
		{map[string]string{"HOME": "/home/u", "XDG_CACHE_HOME": "/c", "MILLHAND_CACHE_DIR": "/own"}, "/own", "/home/u/.local/state/millhand"},
		{map[string]string{"HOME": "relative", "MILLHAND_CACHE_DIR": "relative"}, "", ""},
	} {
		w := of(tt.env)
		if got := w.UserCacheDir(); got != tt.cache {
			t.Errorf("%v: cache of the user %q, want %q", tt.env, got, tt.cache)
		}
		if got := w.CacheDir(); tt.cache != "" && got != tt.cache || tt.cache == "" && !strings.HasSuffix(got, filepath.Join(".millhand", "cache")) {
			t.Errorf("%v: cache %q, want %q", tt.env, got, tt.cache)
		}
		if got, err := w.StateDir(); got != tt.state || (err != nil) != (tt.state == "") {
			t.Errorf("%v: state %q (%v), want %q", tt.env, got, err, tt.state)
		}
	}
}

func TestEnvironHasTheNamedVariables(t *testing.T) {
	w := of(map[string]string{"A": "1", "B": "2=3", "C": "4"})
	w.Names = []string{"A", "B"}
	if got := w.Environ(); !slices.Equal(got, []string{"A=1", "B=2=3"}) {
		t.Errorf("%q", got)
	}
}

// TestSecretsOfThePlanAndTheEnvironmentAreRedacted names each source of a secret once: a source that is
// forgotten shows its value.
func TestSecretsOfThePlanAndTheEnvironmentAreRedacted(t *testing.T) {
	value := func(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(name))) } // no two overlap
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20" + value("telemetry"),
		"MILLHAND_SIGNING_KEY": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + value("signing") + "\n-----END OPENSSH PRIVATE KEY-----\n",
		"APP_KEY":              "-----BEGIN PRIVATE KEY-----\n" + value("app") + "\n-----END PRIVATE KEY-----\n",
	}
	for _, name := range []string{"OPENAI_API_KEY", "MILLHAND_GIT_TOKEN", "AWS_SECRET_ACCESS_KEY", "SETUP_TOKEN", "SEARCH_KEY", "FORGE_TOKEN", "PROVIDER_KEY", "LOGIN_TOKEN"} {
		env[name] = value(name)
	}
	plan := &tasks.Plan{
		Jobs:      []tasks.Job{{SetupEnv: []string{"SETUP_TOKEN"}}},
		Search:    tasks.Search{KeyEnv: "SEARCH_KEY"},
		Forges:    []tasks.Forge{{TokenEnv: "FORGE_TOKEN", App: &tasks.GitHubApp{KeyEnv: "APP_KEY"}}},
		MCP:       []tasks.MCPServer{{Remote: &tasks.Remote{Secrets: []string{value("remote")}}}},
		Providers: map[string]tasks.Provider{"own": {KeyEnv: "PROVIDER_KEY", Login: &tasks.Login{TokenEnv: "LOGIN_TOKEN"}, Headers: map[string]string{"x-api-key": "Token " + value("header")}}},
	}
	w := of(env)
	w.Secrets = []string{value("world")}
	known := w.Redactor(plan, value("more"))
	for _, name := range []string{
		"telemetry", "signing", "app", "OPENAI_API_KEY", "MILLHAND_GIT_TOKEN", "AWS_SECRET_ACCESS_KEY", "SETUP_TOKEN", "SEARCH_KEY", "FORGE_TOKEN", "PROVIDER_KEY",
		"LOGIN_TOKEN", "remote", "header", "world", "more",
	} {
		text := known.Text("before " + env[name] + value(name) + " after")
		if strings.Contains(text, value(name)) || !strings.HasPrefix(text, "before ") || !strings.HasSuffix(text, " after") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if text := w.Redactor(nil).Text(value("SETUP_TOKEN")); text != value("SETUP_TOKEN") {
		t.Errorf("a variable that only the plan marks is redacted without it: %q", text)
	}
}

func TestGitGetsWhatTheWorldHas(t *testing.T) {
	w := of(map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/x", "PATH": t.TempDir()})
	if got := w.GitEnv(); got.Home != "/home/u" || got.XDGConfigHome != "/x" || got.GitProgram != "" {
		t.Errorf("%+v", got)
	}
}
