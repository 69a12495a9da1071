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
	"github.com/millhand/millhand/internal/text/textcut"
)

// The two services of git's transfer protocol.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// wantVersion2 asks a service for version 2 of the protocol.
const wantVersion2 = "version=2"

// transport is a connection to a service of git's transfer protocol, version 0 or, for fetches
// from servers, 2 if they have it (gitprotocol-pack(5), gitprotocol-http(5), gitprotocol-v2(5)). It ends with the context that it
// was opened with.
type transport interface {
	// greeting returns the service's advertisement.
	greeting() (io.Reader, error)
	// ask sends a request that another one follows, and returns the response.
	ask(request []byte) (io.Reader, error)
	// exchange sends the last request, of a known size, and returns the
	// response. open returns the request from its start, also while an earlier one is read.
	exchange(open func() io.Reader, size int64) (io.Reader, error)
	// messages returns the remote's messages outside the protocol.
	messages() string
	close()
}

// openTransport connects to a service.
func openTransport(ctx context.Context, at Address, remote Repo, service string, env gitdir.Env) (transport, error) {
	switch at.Scheme {
	case "http", "https":
		return newHTTPTransport(ctx, at, remote, service)
	case "ssh":
		return dialSSH(ctx, at, remote.Auth, service)
	}
	return startLocal(ctx, at, service, env)
}

// pipes is a transport over the standard streams of a local or remote command.
type pipes struct {
	in    io.WriteCloser
	out   io.Reader
	said  *limitedBuffer // from standard error
	asked bool
	kill  func()
	ended chan struct{} // closed after the command has exited and its output was read
	once  sync.Once
}

func (p *pipes) greeting() (io.Reader, error) { return p.out, nil }

func (p *pipes) ask(request []byte) (io.Reader, error) {
	_, err := p.in.Write(request)
	return p.out, err
}

// exchange returns the response even if the service did not read all of the
// request, because it then contains the error.
func (p *pipes) exchange(open func() io.Reader, _ int64) (io.Reader, error) {
	p.asked = true
	_, err := io.Copy(p.in, open())
	return io.MultiReader(p.out, failing{errors.Join(err, p.in.Close())}), nil
}

func (p *pipes) messages() string { return p.said.String() }

// close ends the command and waits for it.
func (p *pipes) close() {
	p.once.Do(func() {
		if !p.asked {
			_, _ = p.in.Write(pktline.FlushPkt) // a flush packet ends the conversation
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

// failing is an empty reader that returns an error, or io.EOF if it is nil.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// maxMessages is the maximum size of the remote's messages.
const maxMessages = 4 << 10

// limitedBuffer stores the start of what is written to it.
type limitedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (e *limitedBuffer) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p[:min(len(p), maxMessages-len(e.text))]...)
	return len(p), nil
}

// String returns the text on one line, without control characters.
func (e *limitedBuffer) String() string {
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

// remoteError converts a message of the remote to an error, whose kind it derives
// from known phrases.
func remoteError(text string) error {
	kind, lower := ErrUnreachable, strings.ToLower(text)
	for _, k := range []struct {
		kind    error
		phrases []string
	}{
		{ErrNotFound, []string{"not found", "does not exist", "does not appear to be a git repository", "no such", "could not be found", "not a git repository"}},
		{ErrAuth, []string{"denied", "permission", "authenticat", "authoriz", "dubious ownership", "not allowed"}},
	} {
		for _, w := range k.phrases {
			if strings.Contains(lower, w) {
				kind = k.kind
			}
		}
	}
	return fmt.Errorf("%w: remote: %q", kind, oneLine(text))
}
