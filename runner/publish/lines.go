package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/unidiff"
)

// The maximum numbers of a pull request's lines with comments of a job, and of findings in one of them.
const (
	maxLines   = 50
	maxOnALine = 5
)

// notReported starts a comment whose findings the last review has not.
const notReported = "_No longer reported._\n\n"

// inline makes the findings that are on lines of the pull request's diff comments there, and leaves the others for the comment
// with the summary. Comments of earlier runs of the job are replaced, and resolved if their findings are gone; the text on a line
// identifies them, so that nothing is posted twice. If the forge refuses the review, all findings are in the summary.
func (c *Comment) inline(ctx context.Context) error {
	l := lineComments{Comment: c, prefix: "line-" + short(c.Job) + "-"}
	others, err := l.place(ctx)
	if err == nil {
		err = l.create(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Warn(fmt.Sprintf("the findings are not on the lines of the diff, but in the comment: %v%s", err, lineFix(err)))
		return nil
	}
	c.Facts.OnLines = len(c.Facts.Review.Findings) - len(others)
	c.Facts.Review = &findings.Review{Summary: c.Facts.Review.Summary, Findings: others}
	if err := l.update(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Warn(fmt.Sprintf("earlier comments on lines of the diff were not updated: %v%s", err, lineFix(err)))
	}
	return nil
}

// lineFix returns what to do about an error.
func lineFix(err error) string {
	if errors.Is(err, forge.ErrDenied) {
		return "; the token must be able to write pull requests, which that of a workflow for a fork can't"
	}
	return ""
}

// short returns a hash of a text that can be in a marker.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// lineComments are the comments of a job on lines of a pull request.
type lineComments struct {
	*Comment
	prefix string // of their markers
	review forge.Review
	change []lineChange
}

// lineChange is what an earlier comment becomes.
type lineChange struct {
	forge.LineComment
	body     string
	resolved bool
}

// place decides which comments are created, which are changed, and which findings are in none.
func (l *lineComments) place(ctx context.Context) ([]findings.Finding, error) {
	number := l.Spec.Number
	pull, err := l.Client.Pull(ctx, l.Repo, number)
	if err != nil {
		return nil, err
	}
	files, err := l.Client.Diff(ctx, l.Repo, number)
	if err != nil {
		return nil, err
	}
	own, err := l.Client.OwnLines(ctx, l.Repo, number)
	if err != nil {
		return nil, err
	}
	earlier := map[string]forge.LineComment{}
	for _, o := range own {
		if strings.HasPrefix(o.Marker, l.prefix) {
			earlier[o.Marker] = o
		}
	}
	diffs := make([]findings.Diff, len(files))
	for i, f := range files {
		diffs[i] = findings.Diff{Old: f.Old, Path: f.Path, Lines: unidiff.Shown(f.Hunks)}
	}
	spots, others := l.Facts.Review.Place(diffs, l.Read, maxOnALine)
	l.review.Pull = pull
	for _, s := range spots {
		marker := l.prefix + s.Key
		body := forge.Marked(lineText(s.Findings), marker)
		found, exists := earlier[marker]
		switch {
		case exists:
			delete(earlier, marker)
			if !sameText(found.Body, body) {
				l.change = append(l.change, lineChange{found, body, found.Resolved && !strings.HasPrefix(found.Body, notReported)})
			}
		case len(l.review.Lines) == maxLines:
			others = append(others, s.Findings...)
		default:
			l.review.Lines = append(l.review.Lines, forge.NewLine{Old: s.Old, Path: s.Path, Line: s.Line.New, OldLine: s.Line.Old, Body: body, Marker: marker})
		}
	}
	for _, gone := range earlier {
		if !strings.HasPrefix(gone.Body, notReported) {
			l.change = append(l.change, lineChange{gone, notReported + gone.Body, true})
		}
	}
	slices.SortFunc(l.change, func(a, b lineChange) int { return int(a.ID - b.ID) })
	return others, nil
}

// sameText compares texts that a forge may have trimmed.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// lineText returns the text of a comment with findings.
func lineText(all []findings.Finding) string {
	var parts []string
	for _, f := range all {
		text := fmt.Sprintf("**%s** `%s`: %s", f.Severity, f.Rule, cellHead(f.Message, maxFinding))
		if f.Suggestion != "" {
			text += "\n\nSuggestion: " + cellHead(f.Suggestion, maxFinding)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// create creates the comments that don't exist.
func (l *lineComments) create(ctx context.Context) error {
	if len(l.review.Lines) == 0 {
		return nil
	}
	l.review.Text = "Findings on " + figures.Count(len(l.review.Lines), "line") + ".\n\n" + l.Facts.origin()
	return l.Client.CreateReview(ctx, l.Repo, l.review)
}

// update changes comments of earlier runs.
func (l *lineComments) update(ctx context.Context) error {
	for _, change := range l.change {
		if err := l.Client.EditLine(ctx, l.Repo, l.Spec.Number, change.LineComment, change.body, change.resolved); err != nil {
			return err
		}
	}
	return nil
}
