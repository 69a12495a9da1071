//go:build linux

package sandbox

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/sandbox/proxy"
)

// registryHost is the registry's host name inside.
const registryHost = "registry.example"

// Package managers install packages from a registry that the profile allows, through
// the proxy.
func TestPackagesAreInstalledFromARegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	registry := httptest.NewServer(http.HandlerFunc(serveRegistry))
	defer registry.Close()
	port := mustPort(t, registry.URL)
	python, _ := exec.Command("python3", "-c", "import sys,pip; print(sys.executable)").Output() // without pip it is not tried
	tests := []struct {
		name, needs, line, want string
	}{
		{"npm", `command -v npm`, `npm install --no-audit --no-fund --silent hello && node -p 'require("hello")'`, "hello from npm"},
		{"go", `command -v go`, `mkdir m && cd m && printf 'module m\n\ngo 1.20\n' >go.mod && printf 'package m\n\nimport "example.com/hello"\n\nconst M = hello.Hello\n' >m.go && go get example.com/hello@v1.0.0 2>&1 && go build . && cat "$HOME"/go/pkg/mod/example.com/hello*/hello.go | tail -1`, `const Hello = "hello from go"`},
		{"pip", `test -n "$PYTHON" && echo yes`, `"$PYTHON" -m pip install -q --disable-pip-version-check --no-cache-dir --index-url "$REGISTRY/simple" --trusted-host ` + registryHost + ` --target lib hello && PYTHONPATH=lib "$PYTHON" -c 'import hello; print(hello.text)'`, "hello from pip"},
	}
	env := []string{
		"REGISTRY=http://" + registryHost + ":" + port, "PYTHON=" + strings.TrimSpace(string(python)), "npm_config_registry=http://" + registryHost + ":" + port + "/npm/", "npm_config_update_notifier=false",
		"GOPROXY=http://" + registryHost + ":" + port + "/go", "GONOSUMDB=*", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local",
	}
	for _, level := range confining() {
		for _, tt := range tests {
			t.Run(string(level)+" "+tt.name, func(t *testing.T) {
				p := newFixture(t)
				if unguarded(t, p.dir, tt.needs, env...) == "" {
					t.Skip("this machine lacks what it takes")
				}
				server := &proxy.Server{Record: func(proxy.Attempt) {}, Allowed: onlyRegistry, Lookup: func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				}}
				spec := p.spec()
				spec.Programs = Toolchains(os.Getenv("HOME"), os.Getenv("PATH"))
				spec.Network = Network{Serve: server.Serve}
				if level == Partial {
					spec.Network.Addr = serveOutside(t, server)
				}
				got := bash(t, inside(t, spec, level), tt.line, env...)
				if got.err != nil || !strings.HasSuffix(strings.TrimSpace(got.output), tt.want) {
					t.Errorf("%+v, %v: %s", got.ending, got.err, got.output)
				}
			})
		}
	}
}

func onlyRegistry(host string, _ int, _ netip.Addr) error {
	if host != registryHost {
		return errors.New("it is not the registry")
	}
	return nil
}

// serveRegistry has one package for each of the package managers.
func serveRegistry(w http.ResponseWriter, r *http.Request) {
	wheel := zipped(map[string]string{
		"hello.py": "text = 'hello from pip'\n", "hello-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n",
		"hello-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "hello-1.0.dist-info/RECORD": "",
	})
	module := zipped(map[string]string{"example.com/hello@v1.0.0/go.mod": "module example.com/hello\n", "example.com/hello@v1.0.0/hello.go": "package hello\n\nconst Hello = \"hello from go\"\n"})
	tarball := tarred(map[string]string{"package/package.json": `{"name":"hello","version":"1.0.0"}`, "package/index.js": `module.exports = "hello from npm"`})
	switch r.URL.Path {
	case "/npm/hello":
		sum := sha512.Sum512(tarball)
		fmt.Fprintf(w, `{"name":"hello","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"hello","version":"1.0.0","dist":{"tarball":"http://%s/npm/hello.tgz","integrity":"sha512-%s"}}}}`, r.Host, base64.StdEncoding.EncodeToString(sum[:]))
	case "/npm/hello.tgz":
		w.Write(tarball)
	case "/go/example.com/hello/@v/list":
		io.WriteString(w, "v1.0.0\n")
	case "/go/example.com/hello/@v/v1.0.0.info":
		io.WriteString(w, `{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`)
	case "/go/example.com/hello/@v/v1.0.0.mod":
		io.WriteString(w, "module example.com/hello\n")
	case "/go/example.com/hello/@v/v1.0.0.zip":
		w.Write(module)
	case "/simple/hello/":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a>`)
	case "/hello-1.0-py3-none-any.whl":
		w.Write(wheel)
	default:
		http.NotFound(w, r)
	}
}

func zipped(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, err := z.Create(name)
		if err != nil {
			panic(err)
		}
		io.WriteString(f, text)
	}
	z.Close()
	return b.Bytes()
}

// tarred is deterministic, because its checksum must be.
func tarred(files map[string]string) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, name := range []string{"package/package.json", "package/index.js"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			panic(err)
		}
		io.WriteString(w, files[name])
	}
	w.Close()
	g.Close()
	return b.Bytes()
}
