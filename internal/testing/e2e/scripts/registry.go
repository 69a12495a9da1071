package scripts

import (
	"archive/zip"
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// goProxy adds a version of a module to a directory that GOPROXY can name. Its content is
// that of a module that millhand is built of, with the path of the new module; each OLD
// is replaced by NEW in its Go files.
func goProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args)%2 != 0 {
		ts.Fatalf("usage: goproxy DIR FROM MODULE VERSION [OLD NEW]...")
	}
	dir, from, module, version := ts.MkAbs(args[0]), args[1], args[2], args[3]
	find := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", from)
	find.Dir = ts.Getenv("ROOT")
	out, err := find.Output()
	ts.Check(err)
	texts := strings.NewReplacer(append([]string{from, module}, args[4:]...)...)
	at := filepath.Join(dir, filepath.FromSlash(module), "@v")
	ts.Check(os.MkdirAll(at, 0o755))
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	ts.Check(err)
	defer packed.Close()
	archive := zip.NewWriter(packed)
	source := os.DirFS(strings.TrimSpace(string(out)))
	ts.Check(fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		keep := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "License")
		if err != nil || d.IsDir() || !keep {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		w, err := archive.Create(fmt.Sprintf("%s@%s/%s", module, version, name))
		if err == nil {
			_, err = w.Write([]byte(texts.Replace(string(text))))
		}
		return err
	}))
	ts.Check(archive.Close())
	ts.Check(os.WriteFile(filepath.Join(at, version+".mod"), []byte("module "+module+"\n\ngo 1.21\n"), 0o644))
	ts.Check(os.WriteFile(filepath.Join(at, version+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":"2024-01-02T03:04:05Z"}`, version), 0o644))
	list, err := os.OpenFile(filepath.Join(at, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	defer list.Close()
	_, err = list.WriteString(version + "\n")
	ts.Check(err)
}

// npmRegistry serves published packages at $npm_config_registry, which it sets, with
// $REGISTRY as the address. Their content is downloaded by npm.
func npmRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: npm-registry NAME@VERSION...")
	}
	dir := ts.MkAbs(".registry")
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(ts.Exec("npm", append([]string{"pack", "--silent", "--pack-destination", dir}, args...)...))
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	type dist struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"`
	}
	type version struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Dist    dist   `json:"dist"`
	}
	packages := map[string]map[string]version{}
	for _, arg := range args {
		name, number, _ := strings.Cut(arg, "@")
		file := name + "-" + number + ".tgz"
		text, err := os.ReadFile(filepath.Join(dir, file))
		ts.Check(err)
		sum := sha512.Sum512(text)
		if packages[name] == nil {
			packages[name] = map[string]version{}
		}
		packages[name][number] = version{name, number, dist{server.URL + "/" + name + "/-/" + file, "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}
		mux.HandleFunc("GET /"+name+"/-/"+file, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })
	}
	for name, versions := range packages {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{}, "versions": versions})
		})
	}
	ts.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
	ts.Setenv("npm_config_registry", server.URL)
}

// httpDir serves a directory over HTTP on loopback, at the URL that it sets a variable to.
// Files in it may contain the URL as @URL@. Each request is a line of DIR.log.
func httpDir(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: http-dir DIR VAR")
	}
	dir := ts.MkAbs(args[0])
	log, err := os.Create(dir + ".log")
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(log, r.Method, r.Host, r.URL.Path)
		name := filepath.Join(dir, filepath.FromSlash(path.Clean("/"+r.URL.Path)))
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name = filepath.Join(name, "index.html")
		}
		data, err := os.ReadFile(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(name, ".html") {
			w.Header().Set("Content-Type", "text/html")
		}
		w.Write(bytes.ReplaceAll(data, []byte("@URL@"), []byte("http://"+r.Host)))
	}))
	ts.Defer(func() {
		server.Close()
		log.Close()
	})
	ts.Setenv(args[1], server.URL)
}
