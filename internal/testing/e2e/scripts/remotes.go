package scripts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// serveSSH starts an sshd on loopback with the keys of a new directory, and sets $SSH_SERVER
// to its URL before the absolute path of a repository.
func serveSSH(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ssh-server DIR")
	}
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o700))
	server, err := gittest.ServeSSH(context.Background(), ts.MkAbs(args[0]), io.Discard)
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("SSH_SERVER", server.URL)
}

// hasSSH reports whether the machine has an sshd that works.
func hasSSH() (bool, error) {
	dir, err := os.MkdirTemp("", "sshd-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	server, err := gittest.ServeSSH(context.Background(), dir, io.Discard)
	if errors.Is(err, gittest.ErrNoSSH) {
		return false, nil
	}
	if err == nil {
		server.Close()
	}
	return err == nil, err
}

type disturbedKey struct{}

// disturbed is what happens to the next pushes to a script's git-http.
type disturbed struct {
	mu    sync.Mutex
	times int
	how   string   // cut, cut-after or run
	run   []string // command
}

// disturb changes what happens to pushes: the connection is cut before or after the push
// arrived, or a command runs before it.
func disturb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || args[0] == "run" != (len(args) > 1) || args[0] != "cut" && args[0] != "cut-after" && args[0] != "run" {
		ts.Fatalf("usage: next-push cut|cut-after|run CMD...")
	}
	d := ts.Value(disturbedKey{}).(*disturbed)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times, d.how, d.run = 1, args[0], args[1:]
}

// serve serves a request with what disturbs it.
func (d *disturbed) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	how, command := "", []string(nil)
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.ContentLength != int64(len("0000")) {
		d.mu.Lock()
		if d.times > 0 {
			d.times--
			how, command = d.how, d.run
		}
		d.mu.Unlock()
	}
	switch how {
	case "cut":
		panic(http.ErrAbortHandler)
	case "cut-after":
		next.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case "run":
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			http.Error(w, string(out), http.StatusInternalServerError)
			return
		}
	}
	next.ServeHTTP(w, r)
}

// nowhere is a response that nobody gets.
type nowhere struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n nowhere) Header() http.Header { return n.header }

// WriteHeader implements http.ResponseWriter.
func (nowhere) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
