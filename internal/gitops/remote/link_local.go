package remote

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// startLocal starts the service of a repository on this machine, in a process
// group of its own. Its environment has nothing of ours, and the configuration of machine
// and user does not count; hooks and settings of the repository itself do.
func startLocal(ctx context.Context, at Address, service string, env gitdir.Env) (link, error) {
	if env.GitProgram == "" {
		return nil, &gitdir.UnsupportedError{Reason: "pushing to a local directory requires the git program"}
	}
	cmd := gitdir.Command(ctx, env.GitProgram, strings.TrimPrefix(service, "git-"), at.Path)
	cmd.Dir = "/"
	p := &pipes{said: &excerpt{}, ended: make(chan struct{})}
	cmd.Stderr = p.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, w := io.Pipe() // unlike a pipe of the command's, it may be read while waiting for the command
	cmd.Stdout = w
	p.in, p.out = in, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // what went wrong shows in what it said
		_ = w.Close()
	}()
	p.kill = func() {
		select {
		case <-p.ended: // its id may be another's by now
		default:
			_ = cmd.Cancel()
		}
	}
	return p, nil
}
