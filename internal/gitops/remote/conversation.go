package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// conversation is a transport whose advertisement was read.
type conversation struct {
	transport transport
	refs      *packp.AdvRefs
	able      *capability.List
	version2  bool // of the protocol; 0 otherwise
}

// converse opens a service and reads its advertisement.
func converse(ctx context.Context, at Address, remote Repo, service string, env gitdir.Env) (*conversation, error) {
	l, err := openTransport(ctx, at, remote, service, env)
	if err != nil {
		return nil, err
	}
	c := &conversation{transport: l, refs: packp.NewAdvRefs()}
	if err := c.readAdvertisement(); err != nil {
		l.close()
		return nil, c.explain(err)
	}
	c.able = c.refs.Capabilities
	return c, nil
}

// readAdvertisement reads the advertisement. One of another object format can't
// be decoded, but names the format in its first line.
func (c *conversation) readAdvertisement() error {
	greeting, err := c.transport.greeting()
	if err != nil {
		return err
	}
	in := bufio.NewReader(greeting)
	if isVersion2(in) {
		return c.list(in)
	}
	var begin limitedBuffer
	err = c.refs.Decode(io.TeeReader(in, &begin))
	if bytes.Contains(begin.text, []byte("object-format=sha256")) {
		return unsupportedFormat("sha256")
	}
	if errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil // a repository without commits
	}
	return err
}

// explain converts a transfer error to one of this package's, using the
// remote's messages.
func (c *conversation) explain(err error) error {
	var said *pktline.ErrorLine
	if errors.As(err, &said) {
		return remoteError(said.Text)
	}
	var unsupported *gitdir.UnsupportedError
	for _, known := range []error{ErrAuth, ErrNotFound, ErrUnreachable, ErrRejected, ErrLease} {
		if errors.Is(err, known) || errors.As(err, &unsupported) {
			return err
		}
	}
	c.transport.close() // so that all messages are read
	if text := c.transport.messages(); text != "" {
		return remoteError(text)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func (c *conversation) close() { c.transport.close() }

func (c *conversation) advertised() advertised { return newAdvertised(c.refs) }

// unlimited is the depth that means all commits in the protocol.
const unlimited = math.MaxInt32

// fetch requests objects and stores the received pack. It sends all haves in
// one round without negotiation, which suits the many short histories of a
// run's branches.
func (c *conversation) fetch(ctx context.Context, into *objectdb.Objects, w request) ([]plumbing.Hash, error) {
	if (w.depth > 0 || len(w.shallow) > 0) && !c.able.Supports(capability.Shallow) {
		return nil, &gitdir.UnsupportedError{Reason: "remote does not support shallow fetches (depth)"}
	}
	send := c.request0
	if c.version2 {
		send = c.request2
	}
	response, update, err := send(w)
	if err != nil {
		return nil, c.explain(err)
	}
	if err := storePack(ctx, into, c.demultiplexed(response, nil)); err != nil {
		var local *storeError
		if errors.As(err, &local) || errors.Is(err, errThin) {
			return nil, err
		}
		return nil, c.explain(fmt.Errorf("receive objects: %w", err))
	}
	shallow := append(slices.Clone(w.shallow), update.Shallows...)
	shallow = append(shallow, c.refs.Shallows...)
	return slices.DeleteFunc(shallow, func(h plumbing.Hash) bool { return slices.Contains(update.Unshallows, h) }), nil
}

// request0 sends a request in version 0 of the protocol, and returns the response from its pack on.
func (c *conversation) request0(w request) (io.Reader, packp.ShallowUpdate, error) {
	req := packp.NewUploadPackRequest()
	req.Wants, req.Haves, req.Shallows = w.want, w.have, w.shallow
	c.ask(req.Capabilities, capability.OFSDelta, capability.NoProgress, capability.Agent)
	c.askSideband(req.Capabilities)
	if w.thin {
		c.ask(req.Capabilities, capability.ThinPack)
	}
	if w.depth > 0 || len(w.shallow) > 0 {
		c.ask(req.Capabilities, capability.Shallow)
	}
	req.Depth = packp.DepthCommits(w.depth)
	var out bytes.Buffer
	if err := errors.Join(req.UploadRequest.Encode(&out), req.UploadHaves.Encode(&out, false),
		pktline.NewEncoder(&out).EncodeString("done\n")); err != nil {
		return nil, packp.ShallowUpdate{}, err
	}
	response, err := c.transport.exchange(func() io.Reader { return bytes.NewReader(out.Bytes()) }, int64(out.Len()))
	if err != nil {
		return nil, packp.ShallowUpdate{}, err
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(response)); err != nil {
		return nil, packp.ShallowUpdate{}, fmt.Errorf("read response: %w", err)
	}
	return res, res.ShallowUpdate, nil
}

// ask adds the capabilities that the service supports to a request.
func (c *conversation) ask(list *capability.List, wanted ...capability.Capability) {
	for _, w := range wanted {
		switch {
		case !c.able.Supports(w):
		case w == capability.Agent:
			_ = list.Set(w, "millhand") // fails only for malformed values
		default:
			_ = list.Set(w)
		}
	}
}

func (c *conversation) askSideband(list *capability.List) {
	if c.able.Supports(capability.Sideband64k) {
		c.ask(list, capability.Sideband64k)
	} else {
		c.ask(list, capability.Sideband)
	}
}

// demultiplexed returns the data band of a response. The progress band is
// written to progress, the error band becomes an error.
func (c *conversation) demultiplexed(response io.Reader, progress io.Writer) io.Reader {
	kind := sideband.Sideband64k
	switch {
	case c.able.Supports(capability.Sideband64k):
	case c.able.Supports(capability.Sideband):
		kind = sideband.Sideband
	default:
		return response
	}
	d := sideband.NewDemuxer(kind, response)
	d.Progress = progress
	return d
}
