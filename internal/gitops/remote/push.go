package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// PushOptions are the options of a push.
type PushOptions struct {
	Remote Repo
	Commit string // hash to push
	Branch string // on the remote, without refs/heads/
	Expect string // the lease: commit that the remote's branch must be at; "" means that it must not exist
}

// Push makes one branch of a remote name one commit, and sends what the remote lacks
// for that. Nothing else there is touched. The remote itself compares the branch with what is
// expected when it moves it, so nobody's commit is lost in a race. A branch that is
// at the commit already is left alone, whatever is expected.
//
// The error matches ErrLease (the branch is elsewhere), ErrRejected (a hook or a
// rule there; with the remote's words), ErrAuth, ErrNotFound, ErrUnreachable,
// the context's, or is an *UnsupportedError. If the connection breaks off after
// all was sent, the remote is asked what became of it; ErrUnreachable then means
// that it could not be found out.
func Push(ctx context.Context, git *gitdir.Dir, o PushOptions) error {
	failpoint.Hit(failpoint.PushBefore, "")
	if err := push(ctx, git, o); err != nil {
		return o.Remote.fail(ctx, "push branch "+o.Branch+" to", err)
	}
	return nil
}

func push(ctx context.Context, git *gitdir.Dir, o PushOptions) error {
	cmd, err := o.command()
	if err != nil {
		return err
	}
	at, err := ParseAddress(o.Remote.URL)
	if err != nil {
		return err
	}
	c, err := converse(ctx, at, o.Remote, receivePack, git.Env)
	if err != nil {
		return err
	}
	defer c.close()
	now := c.refs.References[cmd.Name.String()]
	if now == cmd.New {
		return nil
	}
	if now != cmd.Old {
		return moved(o.Branch, now)
	}
	if err = send(ctx, git.Objects.Originals(), c, cmd); err == nil || ctx.Err() != nil || errors.Is(err, errNotSent) {
		return err
	}
	c.close()
	return checkAfterPush(ctx, git.Env, at, o, err)
}

// command returns the only command of a push.
func (o PushOptions) command() (*packp.Command, error) {
	if err := gitdir.ValidBranch(o.Branch); err != nil {
		return nil, err
	}
	if !plumbing.IsHash(o.Commit) || plumbing.NewHash(o.Commit).IsZero() {
		return nil, fmt.Errorf("%q is not a commit hash", o.Commit)
	}
	if o.Expect != "" && !plumbing.IsHash(o.Expect) {
		return nil, fmt.Errorf("%q is not a commit hash", o.Expect)
	}
	return &packp.Command{
		Name: plumbing.NewBranchReferenceName(o.Branch),
		Old:  plumbing.NewHash(o.Expect),
		New:  plumbing.NewHash(o.Commit),
	}, nil
}

// moved returns the error for a branch that is not at the expected commit.
func moved(branch string, now plumbing.Hash) error {
	if now.IsZero() {
		return fmt.Errorf("%w: %s not found", ErrLease, branch)
	}
	return fmt.Errorf("%w: %s is at %s", ErrLease, branch, now)
}

// errNotSent marks a push that failed before anything was sent.
var errNotSent = errors.New("nothing sent")

// send sends the command and the objects, and reads the status.
func send(ctx context.Context, store *objectdb.Objects, c *conversation, cmd *packp.Command) error {
	have := append(slices.Collect(maps.Values(c.refs.References)), c.refs.Shallows...)
	objects, err := between(ctx, store, []plumbing.Hash{cmd.New}, have)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	pack, size, err := spoolPack(ctx, store, objects)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer discard(pack)
	return c.update(cmd, pack, size)
}

// update sends a command with its pack, and reads the status.
func (c *conversation) update(cmd *packp.Command, pack io.ReaderAt, size int64) error {
	req := packp.NewReferenceUpdateRequest()
	req.Commands = []*packp.Command{cmd}
	c.ask(req.Capabilities, capability.ReportStatus, capability.Quiet, capability.Agent)
	c.askSideband(req.Capabilities)
	if !req.Capabilities.Supports(capability.ReportStatus) {
		return fmt.Errorf("%w: %w", errNotSent, &gitdir.UnsupportedError{Reason: "remote does not support report-status"})
	}
	var head bytes.Buffer
	if err := req.Encode(&head); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	failpoint.Hit(failpoint.PushSending, "")
	response, err := c.transport.exchange(func() io.Reader {
		return io.MultiReader(bytes.NewReader(head.Bytes()), io.NewSectionReader(pack, 0, size))
	}, int64(head.Len())+size)
	if err != nil {
		return c.explain(err)
	}
	failpoint.Hit(failpoint.PushSent, "")
	return c.readStatus(response)
}

// readStatus reads the status of a push, and the rest of the response, because
// the remote may still be working.
func (c *conversation) readStatus(response io.Reader) error {
	var said limitedBuffer
	main := c.demultiplexed(response, &said)
	report := packp.NewReportStatus()
	if err := report.Decode(main); err != nil {
		if text := said.String(); text != "" {
			err = fmt.Errorf("%w (remote: %q)", err, text)
		}
		return c.explain(fmt.Errorf("read push status: %w", err))
	}
	_, _ = io.Copy(io.Discard, main) // the branch may have been moved
	_, _ = io.Copy(io.Discard, response)
	if err := report.Error(); err != nil {
		text := said.String()
		if text == "" {
			text = c.transport.messages()
		}
		if text == "" {
			return fmt.Errorf("%w: %s", ErrRejected, oneLine(err.Error()))
		}
		return fmt.Errorf("%w: %s; remote: %q", ErrRejected, oneLine(err.Error()), text)
	}
	if len(report.CommandStatuses) != 1 {
		return fmt.Errorf("%w: push status has %d lines for one branch", ErrUnreachable, len(report.CommandStatuses))
	}
	return nil
}

// checkAfterPush checks the branch after a push that failed or whose result is
// unknown.
func checkAfterPush(ctx context.Context, env gitdir.Env, at Address, o PushOptions, failure error) error {
	c, err := converse(ctx, at, o.Remote, receivePack, env)
	if err != nil {
		return failure
	}
	defer c.close()
	now := c.refs.References[gitdir.BranchPrefix+o.Branch]
	switch {
	case now == plumbing.NewHash(o.Commit):
		return nil
	case now != plumbing.NewHash(o.Expect):
		return fmt.Errorf("%w (%w)", moved(o.Branch, now), failure)
	}
	return failure
}
