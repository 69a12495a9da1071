package remote

import (
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
)

// conversation is a link whose service has told what it has.
type conversation struct {
	link link
	refs *packp.AdvRefs
	able *capability.List
}

// converse opens a service and hears what it has.
func converse(ctx context.Context, at Address, remote Repo, service string, env gitdir.Env) (*conversation, error) {
	l, err := openLink(ctx, at, remote, service, env)
	if err != nil {
		return nil, err
	}
	c := &conversation{link: l, refs: packp.NewAdvRefs()}
	if err := c.hear(); err != nil {
		l.close()
		return nil, c.explain(err)
	}
	c.able = c.refs.Capabilities
	return c, nil
}

// hear reads the advertisement. One of another object format can't be decoded,
// but it says so in its first line.
func (c *conversation) hear() error {
	greeting, err := c.link.greeting()
	if err != nil {
		return err
	}
	var begin excerpt
	err = c.refs.Decode(io.TeeReader(greeting, &begin))
	if bytes.Contains(begin.text, []byte("object-format=sha256")) {
		return &gitdir.UnsupportedError{Reason: "object format sha256 not supported, only sha1"}
	}
	if errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil // a repository without commits
	}
	return err
}

// explain makes an error of the transfer one of ours, by what the other side said.
func (c *conversation) explain(err error) error {
	var said *pktline.ErrorLine
	if errors.As(err, &said) {
		return saying(said.Text)
	}
	var unsupported *gitdir.UnsupportedError
	for _, known := range []error{ErrAuth, ErrNotFound, ErrUnreachable, ErrRejected, ErrLease} {
		if errors.Is(err, known) || errors.As(err, &unsupported) {
			return err
		}
	}
	c.link.close() // so that all has been said
	if text := c.link.words(); text != "" {
		return saying(text)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func (c *conversation) close() { c.link.close() }

func (c *conversation) offering() offering { return newOffering(c.refs) }

// unlimited is the depth that stands for all commits in the protocol.
const unlimited = math.MaxInt32

// fetch asks for what is wanted and stores the pack that comes. There is one
// round: what we have is told at once and not negotiated, for the many short
// histories of a run's branches.
func (c *conversation) fetch(ctx context.Context, into *gitdir.Objects, w wish) ([]plumbing.Hash, error) {
	req, err := c.request(w)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := errors.Join(req.UploadRequest.Encode(&out), req.UploadHaves.Encode(&out, false),
		pktline.NewEncoder(&out).EncodeString("done\n")); err != nil {
		return nil, err
	}
	answer, err := c.link.exchange(&out, int64(out.Len()))
	if err != nil {
		return nil, c.explain(err)
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(answer)); err != nil {
		return nil, c.explain(fmt.Errorf("read response: %w", err))
	}
	if err := storePack(ctx, into.Dir, c.demultiplexed(res, nil)); err != nil {
		var local *storeError
		if errors.As(err, &local) {
			return nil, err
		}
		return nil, c.explain(fmt.Errorf("receive objects: %w", err))
	}
	shallow := append(slices.Clone(w.shallow), res.Shallows...)
	shallow = append(shallow, c.refs.Shallows...)
	return slices.DeleteFunc(shallow, func(h plumbing.Hash) bool { return slices.Contains(res.Unshallows, h) }), nil
}

// request makes a request of a wish.
func (c *conversation) request(w wish) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequest()
	req.Wants, req.Haves, req.Shallows = w.want, w.have, w.shallow
	c.ask(req.Capabilities, capability.OFSDelta, capability.NoProgress, capability.Agent)
	c.askSideband(req.Capabilities)
	if w.depth > 0 || len(w.shallow) > 0 {
		if !c.able.Supports(capability.Shallow) {
			return nil, &gitdir.UnsupportedError{Reason: "remote does not support shallow fetches (depth)"}
		}
		c.ask(req.Capabilities, capability.Shallow)
	}
	req.Depth = packp.DepthCommits(w.depth)
	return req, nil
}

// ask adds capabilities to a request, as far as the service has them.
func (c *conversation) ask(list *capability.List, wanted ...capability.Capability) {
	for _, w := range wanted {
		switch {
		case !c.able.Supports(w):
		case w == capability.Agent:
			_ = list.Set(w, "millhand") // fails for malformed values only
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

// demultiplexed returns the main band of an answer. What comes on the others is written to
// progress, or makes an error.
func (c *conversation) demultiplexed(answer io.Reader, progress io.Writer) io.Reader {
	kind := sideband.Sideband64k
	switch {
	case c.able.Supports(capability.Sideband64k):
	case c.able.Supports(capability.Sideband):
		kind = sideband.Sideband
	default:
		return answer
	}
	d := sideband.NewDemuxer(kind, answer)
	d.Progress = progress
	return d
}
