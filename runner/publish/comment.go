package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// CommentTarget is where a comment goes.
type CommentTarget struct {
	Client *forge.Client
	Repo   forge.Path
	Remote string // URL of the repository, without credentials
}

// Comment is a comment with the final message of a job.
type Comment struct {
	CommentTarget
	Spec    tasks.Comment
	Job     string // id
	Facts   Facts
	Output  json.RawMessage // instead of the message; nil for none
	Earlier Earlier
	Emit    func(event.Event)

	// Read returns the lines of a file of the repository as the review has read it; nil if it can't be read.
	// Read and Warn are for comments on lines.
	Read func(path string) []string
	Warn func(text string)
}

// CheckComment checks that a comment can be posted. The error is a [*Failure], or that of a
// forge that can't be asked now: [forge.ErrUnreachable] or [forge.ErrLimited].
func (t CommentTarget) CheckComment(ctx context.Context, c tasks.Comment) error {
	return t.Check(ctx, "publish.comment", thread(c), c.Inline)
}

// Check is CheckComment for the thread that a key of the manifest writes to; the zero value checks only the repository.
// onLines requires that the thread has a diff.
func (t CommentTarget) Check(ctx context.Context, key string, on forge.Thread, onLines bool) error {
	repo, err := t.Client.Repo(ctx, t.Repo)
	if err == nil && repo.Archived {
		return refuse(event.CodeRemote, "%s: %s is archived", key, t.Repo)
	}
	if err == nil && on.Number != 0 {
		err = t.Client.CheckThread(ctx, t.Repo, on)
	}
	if err == nil && onLines {
		_, err = t.Client.Pull(ctx, t.Repo, on.Number)
	}
	switch {
	case err == nil || errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		return err
	case errors.Is(err, forge.ErrDenied):
		return refuse(event.CodeRemote, "%s: %v: the token must be able to read and write issues and pull requests", key, err)
	}
	return refuse(event.CodeRemote, "%s: %v", key, err)
}

func thread(c tasks.Comment) forge.Thread { return forge.Thread{Number: c.Number, Issue: c.Issue} }

// Post posts the comment, or updates the one of an earlier process or, if it is sticky, of an
// earlier run. The error is a [*Failure], or the cause of ctx.
func (c *Comment) Post(ctx context.Context) error {
	about := event.Comment{Remote: c.Remote, Number: c.Spec.Number, Issue: c.Spec.Issue}
	if c.Spec.Inline && c.Facts.Review != nil {
		if err := c.inline(ctx); err != nil {
			return err
		}
	}
	about.Lines = c.Facts.OnLines
	found, err := c.Client.Sticky(ctx, c.Repo, thread(c.Spec), c.marker())
	if err == nil {
		about.URL, about.Created = found.URL, c.ours(found.URL)
		started := about
		c.Emit(event.Event{Type: event.CommentStarted, Comment: &started})
		found, err = c.Client.Replace(ctx, c.Repo, thread(c.Spec), found, c.marker(), c.Facts.Comment(c.Output))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &Failure{event.CodeComment, err.Error()}
	}
	about.URL, about.Created = found.URL, found.Created || c.ours(found.URL)
	c.Emit(event.Event{Type: event.CommentPosted, Comment: &about})
	return nil
}

// ours reports whether a comment is of this run: others have another marker unless the comment is
// sticky.
func (c *Comment) ours(url string) bool { return c.Earlier.created(url) || url != "" && !c.Spec.Sticky }

// marker returns what identifies the comment among those of the token's user.
func (c *Comment) marker() string {
	if c.Spec.Sticky {
		return markerOf("comment", c.Job)
	}
	return markerOf("comment", c.Job, c.Facts.Run)
}

// markerOf returns a marker that identifies something by names.
func markerOf(kind string, names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return kind + "-" + hex.EncodeToString(sum[:8])
}

// Comment returns the text of a comment with the final message of the agent.
func (f Facts) Comment(output json.RawMessage) string {
	text := ""
	switch {
	case f.Review != nil:
		text = textcut.Head(f.reviewText(), maxBody, truncated)
	case len(output) > 0:
		text = codeOf(output)
	case f.Session != nil:
		text = harmlessHead(f.Session.Summary, maxComment)
	}
	if f.Pull != "" {
		text += "\n\nPull request: " + f.Pull
	}
	return text + "\n\n" + f.origin()
}

// reviewText returns the findings that are not on lines of the diff, as a table.
func (f Facts) reviewText() string {
	line := func(text string) string { return cellHead(text, maxFinding) }
	if f.OnLines == 0 {
		return f.Review.Markdown(line)
	}
	text := figures.Count(f.OnLines, "finding") + " on lines of the diff.\n"
	if f.Review.Summary != "" {
		text = line(f.Review.Summary) + "\n\n" + text
	}
	if len(f.Review.Findings) == 0 {
		return text
	}
	return text + "\n" + (&findings.Review{Findings: f.Review.Findings}).Markdown(line)
}

// codeOf returns a document as a block of code, where nothing but its end has an effect.
func codeOf(doc json.RawMessage) string {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, doc, "", "  "); err != nil {
		return harmless(string(doc))
	}
	// Only strings contain these characters, where they can be escaped.
	text := strings.NewReplacer("`", `\u0060`, "<", `\u003c`).Replace(pretty.String())
	return fmt.Sprintf("```json\n%s\n```", textcut.Head(text, maxComment, truncated))
}
