// Package gitea tests the program with a real forge: a Gitea server, which .ci/gitea
// builds from the module in the directory server and saves outside of the tree.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/proc/signals"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"millhand": func() {
		command.Start(signals.Catch(), command.SameSignal, func(w *world.World) { w.System = []string{"/etc"} })
	}})
}

// patience limits the start of the server.
const patience = 2 * time.Minute

// server is a Gitea server of one test.
type server struct {
	t    *testing.T
	url  string
	root string // token of the administrator, whose name is boss
	data string // directory
}

// start starts a Gitea server on loopback, as an ordinary user. It skips the test if
// Gitea was not built, which the nightly run does before.
func start(t *testing.T) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	program := built(t)
	dir, err := os.MkdirTemp("", "gitea-") //nolint:usetesting // another user must be able to enter it
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	static := moduleDir(t)
	if os.Getuid() == 0 { // Gitea refuses root, and others can't enter root's directories
		must(t, os.Chmod(dir, 0o755))
		copied := filepath.Join(dir, "gitea")
		run(t, "cp", program, copied)
		program = copied
		for _, sub := range []string{"options", "public", "templates"} {
			run(t, "cp", "-r", filepath.Join(static, sub), dir)
		}
		static = dir
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	must(t, listener.Close())
	s := &server{t: t, url: fmt.Sprintf("http://127.0.0.1:%d", port), data: filepath.Join(dir, "data")}
	must(t, os.Mkdir(s.data, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "data", "app.ini"), fmt.Appendf(nil, config, s.data, static, port), 0o600))
	if os.Getuid() == 0 {
		run(t, "chown", "-R", fmt.Sprint(nobody), s.data)
	}
	gitea := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append(args, "--config", filepath.Join(dir, "data", "app.ini"))...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.data, "USER=nobody", "GITEA_WORK_DIR=" + s.data}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return cmd
	}
	output(t, gitea("migrate"))
	text := output(t, gitea("admin", "user", "create", "--admin", "--username", "boss", "--password", password, "--email", "boss@example.com", "--access-token"))
	token := regexp.MustCompile(`\b[0-9a-f]{40}\b`).FindString(text)
	if token == "" {
		t.Fatalf("no token in %q", text)
	}
	s.root = token
	web := gitea("web")
	log := new(bytes.Buffer)
	web.Stdout, web.Stderr = log, log
	must(t, web.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = web.Wait()
	}()
	t.Cleanup(func() {
		_ = web.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = web.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("Gitea's log:\n%s", log)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("Gitea does not start:\n%s", log)
		default:
		}
		if _, err := s.try(t.Context(), token, "GET", "/version", nil, nil); err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal("Gitea does not respond")
		}
	}
}

const (
	nobody   = 65534 // a user without rights
	password = "pass-phrase-4711"
)

// config is Gitea's configuration: the directory of its data, that of its files, the port.
const config = `APP_NAME = Gitea of a test
RUN_MODE = prod
WORK_PATH = %[1]s
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = http://127.0.0.1:%[3]d/
STATIC_ROOT_PATH = %[2]s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
SECRET_KEY = for-tests-only
[service]
DISABLE_REGISTRATION = true
[repository]
DEFAULT_BRANCH = main
[api]
MAX_RESPONSE_ITEMS = 5
[webhook]
ALLOWED_HOST_LIST = loopback
[actions]
ENABLED = false
[cron]
ENABLED = false
[log]
MODE = console
LEVEL = Warn
`

// built returns the program that .ci/gitea built.
func built(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("server/go.mod")
	must(t, err)
	version := regexp.MustCompile(`\tcode\.gitea\.io/gitea v(\S+)`).FindSubmatch(text)
	cache, err := os.UserCacheDir()
	must(t, err)
	program := filepath.Join(cache, "millhand-tests", "gitea-"+string(version[1]))
	if _, err := os.Stat(program); err != nil {
		if nightly.On() {
			t.Fatalf("%v; build it with .ci/gitea", err)
		}
		t.Skipf("%v; .ci/gitea builds it", err)
	}
	return program
}

// moduleDir returns the directory of Gitea's module, whose templates the server reads.
func moduleDir(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "code.gitea.io/gitea")
	cmd.Dir = "server"
	var module struct{ Dir string }
	must(t, json.Unmarshal([]byte(output(t, cmd)), &module))
	return module.Dir
}

// api calls Gitea's API, which must fulfill the request.
func (s *server) api(token, method, path string, body, out any) {
	s.t.Helper()
	status, err := s.try(s.t.Context(), token, method, path, body, out)
	if err != nil {
		s.t.Fatalf("%s %s: status %d: %v", method, path, status, err)
	}
}

// try calls Gitea's API and returns the status of the response.
func (s *server) try(ctx context.Context, token, method, path string, body, out any) (int, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, payload)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "token "+token)
	req.Header.Set("Content-Type", "application/json")
	if name, ok := strings.CutPrefix(token, "password of "); ok {
		req.SetBasicAuth(name, password)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = errors.New(string(data))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	return res.StatusCode, err
}

type object = map[string]any

// user creates a user and returns a token with scopes.
func (s *server) user(name string, scopes ...string) string {
	s.t.Helper()
	s.api(s.root, "POST", "/admin/users", object{"username": name, "password": password, "email": name + "@example.com", "must_change_password": false}, nil)
	return s.token(name, scopes...)
}

// token creates a token of a user.
func (s *server) token(name string, scopes ...string) string {
	s.t.Helper()
	var made struct{ SHA1 string }
	s.api("password of "+name, "POST", "/users/"+name+"/tokens", object{"name": strings.Join(scopes, " "), "scopes": scopes}, &made)
	return made.SHA1
}

// push pushes files on a branch of a repository, which starts at main if that exists.
func (s *server) push(path, branch string, files map[string]string) {
	s.t.Helper()
	var all []object
	for name, text := range files {
		all = append(all, object{"operation": "create", "path": name, "content": []byte(text)})
	}
	body := object{"files": all, "message": "add files", "branch": "main"}
	if branch != "main" {
		body["new_branch"] = branch
	}
	s.api(s.root, "POST", "/repos/"+path+"/contents", body, nil)
}

// client returns a client that doesn't pause between writes.
func (s *server) client(token string) *forge.Client {
	s.t.Helper()
	c, err := connect.Client(forge.Options{
		Kind: forge.Gitea, Server: s.url, UserAgent: "millhand/test", Now: time.Now,
		Sleep: func(ctx context.Context, d time.Duration) error { // all but the pause between writes
			select {
			case <-time.After(d - time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Token: func(context.Context, string) (string, error) { return token, nil },
	})
	must(s.t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	return output(t, exec.Command(name, args...))
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
