package confinement

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

func TestHostsOfSetup(t *testing.T) {
	build, _ := permission.Preset("build")
	full, _ := permission.Preset("full")
	env := func(name string) string {
		return map[string]string{"npm_config_registry": "http://10.1.2.3:4873", "HOME": t.TempDir()}[name]
	}
	npm := ecosystem.DetectIn([]string{"package.json"})
	pip := ecosystem.DetectIn([]string{"requirements.txt"})
	gradle := ecosystem.DetectIn([]string{"app/gradlew", "app/gradle/wrapper/gradle-wrapper.properties"})
	policy := permission.Network{Hosts: []string{"*.corp.example", "files.pythonhosted.org"}}
	tests := []struct {
		name    string
		profile permission.Profile
		found   []ecosystem.Found
		output  string
		want    string
	}{
		{"registries", build, pip, "", "files.pythonhosted.org pypi.org"},
		{"registries of the user", build, npm, "", "10.1.2.3:4873"},
		{"wrapper of Gradle", build, gradle, "", "downloads.gradle.org github.com plugins.gradle.org release-assets.githubusercontent.com repo.maven.apache.org repo1.maven.org services.gradle.org"},
		{"Gradle without a wrapper", build, ecosystem.DetectIn([]string{"build.gradle"}), "", "downloads.gradle.org plugins.gradle.org repo.maven.apache.org repo1.maven.org services.gradle.org"},
		{"wrapper and output of a model", build, gradle, "x", ""},
		{"nothing found", build, nil, "", ""},
		{"output of a model", build, pip, "x", ""},
		{"all", full, npm, "", "* 10.1.2.3:4873"},
		{"all below a policy", full.Within("policy", policy), pip, "", "*.corp.example files.pythonhosted.org"},
		{"below a policy", build.WithinSetup("policy", policy), pip, "", "files.pythonhosted.org"},
	}
	for _, tt := range tests {
		u, err := NewSetup(tasks.Job{Profile: tt.profile}, tt.found, tt.output, env)
		if got := strings.Join(u.Hosts(), " "); err != nil || got != tt.want {
			t.Errorf("%s: got %s, want %s; %v", tt.name, got, tt.want, err)
		}
	}
}

// Programs use the proxy for hosts of this machine if setup commands may reach one.
func TestSetupReachesThisMachine(t *testing.T) {
	for hosts, want := range map[string]bool{
		"127.0.0.1:4873": true, "127.0.0.1": true, "[::1]:80": true, "::1": true, "localhost:8080": true, "localhost": true,
		"10.0.0.1:80": false, "registry.corp.example": false, "": false,
	} {
		profile, _ := permission.Preset("build")
		profile.Setup = &permission.Network{Hosts: strings.Fields(hosts)}
		u, err := NewSetup(tasks.Job{Profile: profile}, nil, "", func(string) string { return "" })
		if got := u.loopback(); got != want || err != nil {
			t.Errorf("setup_network %q: got %t, want %t; %v", hosts, got, want, err)
		}
	}
}

// The fix of a denial in setup commands names their network, and no registry of the user.
func TestDenialsInSetupHaveAFix(t *testing.T) {
	build, _ := permission.Preset("build")
	listed := build.Clone()
	listed.Name, listed.Setup = "care", &permission.Network{Hosts: []string{"go"}}
	tests := []struct {
		profile     permission.Profile
		reason, fix string
	}{
		{build, "the profile's setup_network does not allow a.test, port 443", "add a profile with {extends: build, setup_network: [registries, a.test]}"},
		{listed, "the profile's setup_network does not allow a.test, port 443", "write in profile care: setup_network: [go, a.test]"},
		{build.WithinSetup("policy p.yaml:3", permission.Network{}), `policy p.yaml:3, which limits the profile build: setup commands of profile "policy p.yaml:3" have no network`, ""},
	}
	for _, tt := range tests {
		filter, err := NetworkFilter(tt.profile.ForSetup([]string{"registry.corp:8443"}, true), true)
		if err != nil {
			t.Fatal(err)
		}
		why := (*networkDenied)(nil)
		if err := filter("a.test", 443, netip.Addr{}); !errors.As(err, &why) || why.reason != tt.reason || why.fix != tt.fix {
			t.Errorf("got %+v, want %s; %s", err, tt.reason, tt.fix)
		}
	}
}

// It also has why setup commands have the network of the others.
func TestDenialsInSetupAreExplainedWithAModelsOutput(t *testing.T) {
	build, _ := permission.Preset("build")
	for output, want := range map[string]string{
		"":                 `profile "build" has no network`,
		"a model wrote it": `profile "build" has no network; setup commands have that of the others: a model wrote it`,
	} {
		filter, err := NetworkFilter(build.ForSetup(nil, false), false)
		if err != nil {
			t.Fatal(err)
		}
		why := (*networkDenied)(nil)
		if err := (Setup{Output: output}).explained(filter)("a.test", 443, netip.Addr{}); !errors.As(err, &why) || why.reason != want || why.fix == "" {
			t.Errorf("%q: got %+v, want %s and a fix", output, err, want)
		}
	}
}

func TestSettingsKeepAModuleCache(t *testing.T) {
	settings := []string{"GOPROXY=https://a,off", "PIP_INDEX_URL=b"}
	for env, want := range map[string]string{
		"":                                  "GOPROXY=https://a,off PIP_INDEX_URL=b",
		"GOPROXY=file:///c,https://x":       "GOPROXY=file:///c,https://a,off PIP_INDEX_URL=b",
		"GOPROXY=https://x PIP_INDEX_URL=y": "GOPROXY=https://a,off PIP_INDEX_URL=b",
	} {
		if got := strings.Join(withSettings(strings.Fields(env), settings), " "); got != want {
			t.Errorf("%s: got %s, want %s", env, got, want)
		}
	}
}

func TestSettingsAreWrittenOnce(t *testing.T) {
	home := t.TempDir()
	files := map[string]string{".npmrc": "registry=a", ".m2/settings.xml": "b"}
	if err := writeSettings(home, "", files); err != nil {
		t.Fatal(err)
	}
	if err := writeSettings(home, "", map[string]string{".npmrc": "changed"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	cargo := t.TempDir()
	if err := writeSettings(home, cargo, map[string]string{".cargo/config.toml": "c"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(cargo, "config.toml")); err != nil {
		t.Error(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, ".cargo")); err != nil {
		t.Fatal(err)
	}
	if err := writeSettings(home, "", map[string]string{".cargo/config.toml": "c"}); err == nil {
		t.Error("a symlink was followed")
	}
}
