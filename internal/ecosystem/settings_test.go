package ecosystem_test

import (
	"encoding/xml"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/permission/reach"
)

// home makes a home directory with files, and returns a function that reads variables.
func home(t *testing.T, env, files map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string {
		switch v, ok := env[name]; {
		case ok:
			return strings.ReplaceAll(v, "HOME", dir)
		case name == "HOME":
			return dir
		}
		return ""
	}
}

type files = map[string]string

const settingsXML = `<?xml version="1.0"?>
<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
  <servers><server><id>corp</id><username>me</username><password>hunter2hunter2</password></server></servers>
  <mirrors><mirror><id>corp</id><mirrorOf>*</mirrorOf><url> https://me:hunter2hunter2@maven.corp/repo </url></mirror></mirrors>
</settings>`

func TestSettingsComeFromFilesAndTheEnvironment(t *testing.T) {
	instead := filepath.Join(t.TempDir(), "ci.conf")
	if err := os.WriteFile(instead, []byte("[global]\nindex-url = http://ci.corp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		ecosystems string
		env, files files
		hosts, is  string // separated by spaces
		dirs       string
		written    files
	}{
		{name: "public", ecosystems: "go npm pnpm yarn pip poetry uv cargo maven gradle bundler composer", hosts: "crates go maven npm packagist pypi rubygems"},
		{name: "nothing found"},
		{
			name: "GOPROXY", ecosystems: "go", env: files{"GOPROXY": "https://u:secret@Goproxy.corp/x?k=secret,https://proxy.golang.org|direct", "GOPRIVATE": "git.corp"},
			hosts: "go goproxy.corp:443 proxy.golang.org:443 sum.golang.org:443", is: "GOPRIVATE=git.corp GOPROXY=https://Goproxy.corp/x,https://proxy.golang.org|direct",
		},
		{name: "GOPROXY at an address", ecosystems: "go", env: files{"GOPROXY": "http://127.0.0.1:8080,off", "GOSUMDB": "off"}, hosts: "localhost:8080", is: "GOSUMDB=off GOPROXY=http://localhost.:8080,off"},
		{name: "GOPROXY with IPv6", ecosystems: "go", env: files{"GOPROXY": "http://[fd00::7]:80", "GOSUMDB": "sum.corp+key"}, hosts: "[fd00::7]:80 sum.corp:443", is: "GOSUMDB=sum.corp+key GOPROXY=http://[fd00::7]:80"},
		{name: "directories", ecosystems: "go pip", env: files{"GOPROXY": "file:///a%2Cb/,file://host/no,direct", "GOSUMDB": "off", "PIP_INDEX_URL": "file:///srv/pip"}, dirs: "/a,b /srv/pip", is: "GOSUMDB=off GOPROXY=file:///a%2Cb/,file://host/no,direct PIP_INDEX_URL=file:///srv/pip"},
		{name: "no proxy", ecosystems: "go", env: files{"GOPROXY": "direct", "GOSUMDB": "off"}, is: "GOSUMDB=off GOPROXY=direct"},
		{name: "go env -w", ecosystems: "go", files: files{".config/go/env": "GOPROXY=https://goproxy.corp\nGOSUMDB=off\n"}, hosts: "goproxy.corp:443", is: "GOSUMDB=off GOPROXY=https://goproxy.corp"},
		{name: "go env -w elsewhere", ecosystems: "go", env: files{"GOENV": "HOME/e", "GOPROXY": ""}, files: files{"e": "GOPROXY=https://goproxy.corp\n"}, hosts: "goproxy.corp:443 sum.golang.org:443", is: "GOPROXY=https://goproxy.corp"},
		{name: "go env off", ecosystems: "go", env: files{"GOENV": "off"}, files: files{".config/go/env": "GOPROXY=https://goproxy.corp\n"}, hosts: "go"},
		{
			name: ".npmrc", ecosystems: "npm yarn", env: files{"HOST": "npm.corp"},
			files: files{".npmrc": "; mine\nregistry = \"https://${HOST}/npm/\"\n//npm.corp/:_authToken=npm_secret\n@team:registry=https://u:secret@team.corp:8443/\nemail=a@b\n"},
			hosts: "npm.corp:443 team.corp:8443", is: "npm_config_registry=https://npm.corp/npm/ YARN_NPM_REGISTRY_SERVER=https://npm.corp/npm/",
			written: files{".npmrc": "@team:registry=https://team.corp:8443/\n"},
		},
		{name: "npm_config_registry", ecosystems: "pnpm", env: files{"npm_config_registry": "http://localhost:4873"}, files: files{".npmrc": "registry=https://npm.corp"}, hosts: "localhost:4873", is: "npm_config_registry=http://localhost:4873 YARN_NPM_REGISTRY_SERVER=http://localhost:4873"},
		{name: "a scope alone", ecosystems: "npm", files: files{".npmrc": "@team:registry=https://team.corp"}, hosts: "npm team.corp:443", written: files{".npmrc": "@team:registry=https://team.corp\n"}},
		{name: "PIP_INDEX_URL", ecosystems: "pip", env: files{"PIP_INDEX_URL": "https://u:p@pypi.corp/simple", "PIP_EXTRA_INDEX_URL": "http://a.corp/simple http://b.corp:81"}, hosts: "a.corp:80 b.corp:81 pypi.corp:443", is: "PIP_INDEX_URL=https://pypi.corp/simple PIP_EXTRA_INDEX_URL=http://a.corp/simple http://b.corp:81"},
		{
			name: "pip.conf", ecosystems: "pip", files: files{".config/pip/pip.conf": "[global]\nextra-index-url =\n    http://a.corp\n    # not this\n    http://b.corp\ntrusted-host = a.corp\n[install]\nindex-url: no\n"},
			hosts: "a.corp:80 b.corp:80 pypi", is: "PIP_EXTRA_INDEX_URL=http://a.corp http://b.corp PIP_TRUSTED_HOST=a.corp",
		},
		{name: "no pip.conf", ecosystems: "pip", env: files{"PIP_CONFIG_FILE": os.DevNull}, files: files{".config/pip/pip.conf": "[global]\nindex-url = http://a.corp\n"}, hosts: "pypi"},
		{
			name: "a pip.conf instead of the user's", ecosystems: "pip", env: files{"PIP_CONFIG_FILE": instead}, hosts: "ci.corp:80", is: "PIP_INDEX_URL=http://ci.corp",
			files: files{".config/pip/pip.conf": "[global]\nextra-index-url = http://a.corp\n", ".pip/pip.conf": "[global]\nextra-index-url = http://b.corp\n"},
		},
		{
			name: "a missing pip.conf", ecosystems: "pip", env: files{"PIP_CONFIG_FILE": instead + ".missing"}, hosts: "a.corp:80", is: "PIP_INDEX_URL=http://a.corp",
			files: files{".config/pip/pip.conf": "[global]\nindex-url = http://a.corp\n"},
		},
		{name: "uv", ecosystems: "uv pip", env: files{"UV_INDEX": "team=https://team.corp/x"}, hosts: "pypi team.corp:443", is: "UV_INDEX=https://team.corp/x"},
		{
			name: "cargo", ecosystems: "cargo", files: files{
				".cargo/config.toml": "[source.crates-io]\nreplace-with = \"corp\" # all\n[source.corp]\nregistry = 'sparse+https://crates.corp/index/'\n[registries.\"own\"]\nindex = \"https://own.corp\"\ntoken = \"secret\"\n[build]\nrustc-wrapper=\"x\"\n",
				".cargo/credentials": "secret",
			},
			hosts: "crates.corp:443 own.corp:443", written: files{".cargo/config.toml": "[source.crates-io]\nreplace-with = \"corp\"\n[source.corp]\nregistry = \"sparse+https://crates.corp/index/\"\n[registries.own]\nindex = \"https://own.corp\"\n"},
		},
		{name: "cargo elsewhere", ecosystems: "cargo", env: files{"CARGO_HOME": "HOME/c"}, files: files{"c/config": "[registries.own]\nindex = \"https://own.corp\"\n"}, hosts: "crates own.corp:443", written: files{".cargo/config.toml": "[registries.own]\nindex = \"https://own.corp\"\n"}},
		{
			name: "settings.xml", ecosystems: "maven", files: files{".m2/settings.xml": settingsXML}, hosts: "maven.corp:443",
			written: files{".m2/settings.xml": "<settings>\n  <mirrors>\n    <mirror>\n      <id>corp</id>\n      <mirrorOf>*</mirrorOf>\n      <url>https://maven.corp/repo</url>\n    </mirror>\n  </mirrors>\n  <profiles></profiles>\n  <activeProfiles></activeProfiles>\n</settings>\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ecosystem.Configured(strings.Fields(tt.ecosystems), home(t, tt.env, tt.files))
			if err != nil {
				t.Error(err)
			}
			if tt.written == nil {
				tt.written = files{}
			}
			if diff := cmp.Diff(strings.Join(slices.Compact(slices.Sorted(slices.Values(reach.Expand(strings.Fields(tt.hosts))))), " "), strings.Join(got.Hosts, " ")); diff != "" {
				t.Error("hosts:", diff)
			}
			if diff := cmp.Diff(tt.dirs, strings.Join(got.Dirs, " ")); diff != "" {
				t.Error("directories:", diff)
			}
			if diff := cmp.Diff(tt.is, strings.Join(got.Env, " ")); diff != "" {
				t.Error("variables:", diff)
			}
			if diff := cmp.Diff(tt.written, got.Files); diff != "" {
				t.Error("files:", diff)
			}
			if _, err := reach.Parse(got.Hosts, false); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConfiguredReportsWhatItCannotRead: a registry of the company that is silently
// replaced by the public one would be a leak of names.
func TestConfiguredReportsWhatItCannotRead(t *testing.T) {
	for name, f := range map[string]files{"xml": {".m2/settings.xml": "<settings><mirrors>"}, "size": {".npmrc": strings.Repeat("x", 1<<20+1)}} {
		if _, err := ecosystem.Configured([]string{"maven", "npm"}, home(t, nil, f)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzConfigured: settings of any content give hosts that can be parsed, and no
// credentials.
func FuzzConfigured(f *testing.F) {
	f.Add("https://u:p4ssw0rd@h.corp/x", "[global]\nindex-url = https://a\n  b\n")
	f.Add("sparse+https://x,direct|off", settingsXML)
	f.Add("http://[::1%25eth0]:80/", "[source.\"a\nb\"]\nregistry = 'https://x'\n")
	f.Add("file:///x", "@a:registry=https://x\nregistry=${X}${${X}}")
	f.Fuzz(func(t *testing.T, url, text string) {
		if strings.ContainsRune(url, 0) {
			t.Skip("no variable contains a NUL")
		}
		dir := t.TempDir()
		env := files{"HOME": dir, "GOENV": dir + "/f", "npm_config_userconfig": dir + "/f", "PIP_CONFIG_FILE": dir + "/f", "CARGO_HOME": dir + "/.cargo", "X": "${X}"}
		for _, name := range []string{"f", ".cargo/config.toml", ".m2/settings.xml"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, variables := range []bool{false, true} {
			if variables {
				for _, name := range []string{"GOPROXY", "npm_config_registry", "PIP_INDEX_URL", "UV_INDEX", "GOSUMDB"} {
					env[name] = url
				}
			}
			got, _ := ecosystem.Configured([]string{"go", "npm", "pip", "uv", "cargo", "maven"}, func(name string) string { return env[name] })
			hosts, err := reach.Parse(got.Hosts, false)
			if err != nil {
				t.Errorf("%q: %v", got.Hosts, err)
			}
			if hosts.Allowed("169.254.169.254", 80, netip.MustParseAddr("169.254.169.254")) == nil && !strings.Contains(url+text, "169.254.169.254") {
				t.Error("the metadata service may be reached")
			}
			for _, kv := range got.Env {
				if strings.ContainsRune(kv, 0) {
					t.Errorf("variable %q", kv)
				}
			}
			if s := got.Files[".m2/settings.xml"]; s != "" && xml.Unmarshal([]byte(s), new(struct{})) != nil {
				t.Errorf("invalid settings %q", s)
			}
		}
	})
}
