package publish

import (
	"context"
	"errors"
	"strings"

	"github.com/millhand/millhand/internal/forge"
)

// A pull request is opened before the other jobs of its run end. The markers are where its
// description gets the patterns of the run afterwards, if its template has them. Texts of models have no such markers:
// see unmarked.
const (
	patternsStart = "<!-- millhand:patterns -->"
	patternsEnd   = "<!-- /millhand:patterns -->"
)

// HasPatterns reports whether the template of a description has the patterns of the run.
func HasPatterns(body string) bool { return strings.Contains(body, "${{ patterns }}") }

// Annotate writes the patterns into the description of an open pull request that a run has
// published. It changes nothing if a person has removed the markers.
func Annotate(ctx context.Context, client *forge.Client, at forge.Path, number int64, text string) error {
	pr, err := client.Get(ctx, at, number)
	if errors.Is(err, forge.ErrNotFound) || err == nil && pr.State != forge.Open {
		return nil
	}
	if err != nil {
		return err
	}
	body, changed := annotated(pr.Body, text)
	if !changed {
		return nil
	}
	_, err = client.Update(ctx, at, number, forge.Change{Body: &body})
	return err
}

// annotated replaces the text between the last markers of a description: those before are of
// earlier runs.
func annotated(body, text string) (string, bool) {
	start := strings.LastIndex(body, patternsStart)
	if start < 0 {
		return body, false
	}
	from := start + len(patternsStart)
	length := strings.Index(body[from:], patternsEnd)
	if length < 0 {
		return body, false
	}
	after := body[:from] + "\n" + text + "\n" + body[from+length:]
	return after, text != "" && after != body
}
