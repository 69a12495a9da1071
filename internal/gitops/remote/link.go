package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/textcut"
)

// The two services of git's transfer protocol.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// link carries one conversation with a service of git's transfer protocol,
// version 0 (gitprotocol-pack(5), gitprotocol-http(5)). The context that it was
// opened with ends it.
type link interface {
	// greeting returns what the service begins with.
	greeting() (io.Reader, error)
	// exchange sends the one request, of a known size, and returns the answer.
	exchange(request io.Reader, size int64) (io.Reader, error)
	// words returns what the other side said beside the protocol.
	words() string
	close()
}

// openLink connects to a service.
func openLink(ctx context.Context, at Address, remote Repo, service string, env gitdir.Env) (link, error) {
	switch at.Scheme {
	case "http", "https":
		return newHTTPLink(ctx, at, remote, service)
	case "ssh":
		return dialSSH(ctx, at, remote.Auth, service)
	}
	return startLocal(ctx, at, service, env)
}

// pipes is a link over the three streams of a command, here or elsewhere.
type pipes struct {
	in    io.WriteCloser
	out   io.Reader
	said  *excerpt // of the third stream
	asked bool
	kill  func()
	ended chan struct{} // closed once the command is over and has said all
	once  sync.Once
}

func (p *pipes) greeting() (io.Reader, error) { return p.out, nil }

// exchange returns the answer even if the service did not want all of the
// request: it then says why.
func (p *pipes) exchange(request io.Reader, _ int64) (io.Reader, error) {
	p.asked = true
	_, err := io.Copy(p.in, request)
	return io.MultiReader(p.out, failing{errors.Join(err, p.in.Close())}), nil
}

func (p *pipes) words() string { return p.said.String() }

// close ends the command and waits for it.
func (p *pipes) close() {
	p.once.Do(func() {
		if !p.asked {
			_, _ = p.in.Write(pktline.FlushPkt) // which says goodbye
			_ = p.in.Close()
		}
		if c, ok := p.out.(io.Closer); ok {
			_ = c.Close()
		}
		select {
		case <-p.ended:
		case <-time.After(gitdir.Grace):
		}
		p.kill()
		<-p.ended
	})
}

// failing is a reader without content that ends with an error, if there is one.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// mostWords bounds what is kept of what the other side says.
const mostWords = 4 << 10

// excerpt keeps the begin of what is written to it.
type excerpt struct {
	mu   sync.Mutex
	text []byte
}

func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p[:min(len(p), mostWords-len(e.text))]...)
	return len(p), nil
}

// String returns the text on one line, without control characters.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return oneLine(string(e.text))
}

func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return textcut.OneLine(text)
}

// saying makes an error of what the other side said, of the kind that the words
// tell of.
func saying(text string) error {
	kind, lower := ErrUnreachable, strings.ToLower(text)
	for _, k := range []struct {
		kind  error
		words []string
	}{
		{ErrNotFound, []string{"not found", "does not exist", "does not appear to be a git repository", "no such", "could not be found", "not a git repository"}},
		{ErrAuth, []string{"denied", "permission", "authenticat", "authoriz", "dubious ownership", "not allowed"}},
	} {
		for _, w := range k.words {
			if strings.Contains(lower, w) {
				kind = k.kind
			}
		}
	}
	return fmt.Errorf("%w: remote: %q", kind, oneLine(text))
}
