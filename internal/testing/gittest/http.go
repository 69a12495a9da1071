package gittest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// HTTP returns a handler that serves the repositories below a directory by git http-backend with
// an environment. Its stderr is that of the process if stderr is nil. The backend gets complete
// requests only: that of git 2.39 reads for ever, with one processor, if a client was killed
// before it had sent all of a body.
func HTTP(ctx context.Context, dir string, stderr io.Writer, env ...string) (http.Handler, error) {
	where, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("find git http-backend: %w", err)
	}
	program := filepath.Join(strings.TrimSpace(string(where)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("find git http-backend: %w", err)
	}
	backend := &cgi.Handler{
		Path: program, Root: "/", Stderr: stderr,
		Env: append([]string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, env...),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		backend.ServeHTTP(w, r)
	}), nil
}
