package remote

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// startLocal starts the service of a local repository in its own process group.
// It does not inherit the environment and ignores the configuration of machine
// and user; hooks and settings of the repository itself apply.
func startLocal(ctx context.Context, at Address, service string, env gitdir.Env) (transport, error) {
	if env.GitProgram == "" {
		return nil, &gitdir.UnsupportedError{Reason: "pushing to a local directory requires the git program"}
	}
	cmd := gitdir.Command(ctx, env.GitProgram, strings.TrimPrefix(service, "git-"), at.Path)
	cmd.Dir = "/"
	p := &pipes{said: &limitedBuffer{}, ended: make(chan struct{})}
	cmd.Stderr = p.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, w := io.Pipe() // unlike a pipe of exec.Cmd, it may be read during Wait
	cmd.Stdout = w
	p.in, p.out = in, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // the error is in its messages
		_ = w.Close()
	}()
	p.kill = func() {
		select {
		case <-p.ended: // its id may have been reused
		default:
			_ = cmd.Cancel()
		}
	}
	return p, nil
}
