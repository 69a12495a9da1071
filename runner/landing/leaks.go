package landing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/redact"
)

// Leak is a secret that the job's changes would add to the repository.
type Leak struct {
	path string
	line int // 0 if the file has no lines
	kind string
	text string // the secret itself, which must not be printed
}

func (l Leak) String() string {
	if l.line == 0 {
		return fmt.Sprintf("%s (%s)", l.path, l.kind)
	}
	return fmt.Sprintf("%s:%d (%s)", l.path, l.line, l.kind)
}

// Leaks returns the leaks of changes in a work tree.
func Leaks(ctx context.Context, tree *gitops.Repo, changes *state.ChangeSet, known *redact.Redactor) (leaks []Leak, err error) {
	err = tree.Added(ctx, changes, func(a state.Addition) error {
		for _, f := range known.Find(a.Path) {
			leaks = append(leaks, Leak{path: known.Text(a.Path), kind: f.Kind + ", in its name", text: a.Path[f.Start:f.End]})
		}
		for _, f := range known.Find(a.Text) {
			k := Leak{path: a.Path, kind: f.Kind, text: a.Text[f.Start:f.End]}
			if a.Line > 0 {
				k.line = a.Line + strings.Count(a.Text[:f.Start], "\n")
			}
			leaks = append(leaks, k)
		}
		wide := redact.Wide(a.Text)
		for _, f := range known.Find(wide) {
			leaks = append(leaks, Leak{path: a.Path, kind: f.Kind + ", in UTF-16 text", text: wide[f.Start:f.End]})
		}
		return nil
	})
	if err != nil || len(leaks) == 0 {
		return nil, err
	}
	err = tree.Versions(ctx, changes, func(_ state.Change, before, _ []byte) {
		text := string(before)
		leaks = slices.DeleteFunc(leaks, func(k Leak) bool {
			return strings.Contains(text, k.text) || strings.Contains(redact.Wide(text), k.text)
		})
	})
	return leaks, err
}

// Patch returns the patch of changes without secrets; see [Redacted].
func Patch(ctx context.Context, tree *gitops.Repo, changes *state.ChangeSet, known *redact.Redactor) (patch []byte, held bool, err error) {
	leaks, err := Leaks(ctx, tree, changes, known)
	if err != nil {
		return nil, false, err
	}
	if patch, err = tree.Patch(ctx, changes.Without(Opaque(leaks))); err != nil {
		return nil, false, err
	}
	patch, held = Redacted(patch, leaks, known)
	return patch, held, nil
}

// Redacted redacts secrets in a patch: leaks in added lines, so that the patch can still be applied, and the keys that
// millhand holds in all lines. held reports whether such a key was in other lines, so that the patch can't be applied.
func Redacted(patch []byte, leaks []Leak, known *redact.Redactor) (clean []byte, held bool) {
	if len(leaks) == 0 && len(known.Find(string(patch))) == 0 {
		return patch, false
	}
	text := string(patch)
	for _, k := range leaks {
		for line := range strings.Lines(k.text) {
			if line = strings.TrimRight(line, "\r\n"); len(line) >= minLeak {
				text = strings.ReplaceAll(text, line, redact.Mark)
			}
		}
	}
	all := known.Held(text)
	return []byte(all), all != text
}

// minLeak is the minimum length in bytes of a line of a secret that is redacted.
const minLeak = 8

// Opaque returns the files whose leaks can't be redacted in a patch.
func Opaque(leaks []Leak) []string {
	var paths []string
	for _, l := range leaks {
		if l.line == 0 {
			paths = append(paths, l.path)
		}
	}
	return paths
}

// KeyInPatch is the warning of a patch in which [Redacted] has replaced a key.
const KeyInPatch = "lines of the patch that were already in the repository contain a key that millhand holds: it is redacted, so the patch can't be applied"
