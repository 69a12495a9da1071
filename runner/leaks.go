package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/textcut"
)

// leak is a secret that the job's changes would add to the repository.
type leak struct {
	path string
	line int // 0 if the file has no lines
	kind string
	text string // the secret itself, which must not be printed
}

func (l leak) String() string {
	if l.line == 0 {
		return fmt.Sprintf("%s (%s)", l.path, l.kind)
	}
	return fmt.Sprintf("%s:%d (%s)", l.path, l.line, l.kind)
}

// findLeaks returns the secrets in the text that the job's changes add. A secret that
// was in one of the changed files before is not a leak.
func (l *landing) findLeaks(ctx context.Context) ([]leak, error) {
	changes, err := l.committed(ctx)
	if err != nil {
		return nil, err
	}
	return leaksIn(ctx, l.site.tree, changes, l.job.opts.Redact)
}

// leaksIn returns the leaks of changes in a work tree.
func leaksIn(ctx context.Context, tree *gitops.Repo, changes *gitops.ChangeSet, known *redact.Redactor) (leaks []leak, err error) {
	err = tree.Added(ctx, changes, func(a gitops.Addition) error {
		for _, f := range known.Find(a.Path) {
			leaks = append(leaks, leak{path: known.Text(a.Path), kind: f.Kind + ", in its name", text: a.Path[f.Start:f.End]})
		}
		for _, f := range known.Find(a.Text) {
			k := leak{path: a.Path, kind: f.Kind, text: a.Text[f.Start:f.End]}
			if a.Line > 0 {
				k.line = a.Line + strings.Count(a.Text[:f.Start], "\n")
			}
			leaks = append(leaks, k)
		}
		wide := redact.Wide(a.Text)
		for _, f := range known.Find(wide) {
			leaks = append(leaks, leak{path: a.Path, kind: f.Kind + ", in UTF-16 text", text: wide[f.Start:f.End]})
		}
		return nil
	})
	if err != nil || len(leaks) == 0 {
		return nil, err
	}
	err = tree.Versions(ctx, changes, func(_ gitops.Change, before, _ []byte) {
		text := string(before)
		leaks = slices.DeleteFunc(leaks, func(k leak) bool {
			return strings.Contains(text, k.text) || strings.Contains(redact.Wide(text), k.text)
		})
	})
	return leaks, err
}

// committed returns the job's changes as a commit would contain them: of files with
// uncommitted changes of the user, a commit includes these changes.
func (l *landing) committed(ctx context.Context) (*gitops.ChangeSet, error) {
	mixed := slices.ContainsFunc(l.changes.Changes, func(c gitops.Change) bool { return slices.Contains(l.site.dirty, c.Path) })
	if l.job.spec.Commit == nil || !l.site.inPlace || l.site.base != "" && !mixed {
		return l.changes, nil
	}
	base, err := l.site.tree.SnapshotOf(l.site.base)
	if err != nil {
		return nil, err
	}
	all, err := l.site.tree.Changes(ctx, base.Below(l.site.below))
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range all.Changes {
		if !slices.ContainsFunc(l.changes.Changes, func(own gitops.Change) bool { return own.Path == c.Path }) {
			others = append(others, c.Path)
		}
	}
	return all.Without(others), nil
}

// leaked returns the stop of a job whose changes must not be committed, or nil with a
// warning if the job makes only a patch.
func (l *landing) leaked(leaks []leak) *stop {
	if len(leaks) == 0 {
		return nil
	}
	var where []string
	for _, k := range leaks {
		where = append(where, k.String())
	}
	text := "the changes contain secrets that were not in the repository: " + textcut.List(slices.Compact(where))
	if l.job.spec.Commit == nil {
		l.job.warn(text + "; they are redacted in the patch")
		return nil
	}
	return &stop{
		code:   event.CodeSecret,
		detail: text + "; nothing was committed, and they are redacted in the patch",
	}
}

// withoutLeaks redacts secrets in a patch: leaks in added lines, so that the patch can
// still be applied, and the keys that millhand holds in all lines.
func (l *landing) withoutLeaks(patch []byte, leaks []leak) []byte {
	if len(leaks) == 0 && len(l.job.opts.Redact.Find(string(patch))) == 0 {
		return patch
	}
	text := string(patch)
	for _, k := range leaks {
		for line := range strings.Lines(k.text) {
			if line = strings.TrimRight(line, "\r\n"); len(line) >= minLeak {
				text = strings.ReplaceAll(text, line, redact.Mark)
			}
		}
	}
	clean := l.job.opts.Redact.Held(text)
	if clean != text {
		l.job.warn("lines of the patch that were already in the repository contain a key that millhand holds: it is redacted, so the patch can't be applied")
	}
	return []byte(clean)
}

// minLeak is the minimum length in bytes of a line of a secret that is redacted.
const minLeak = 8

// opaque returns the files whose leaks can't be redacted in a patch.
func opaque(leaks []leak) []string {
	var paths []string
	for _, l := range leaks {
		if l.line == 0 {
			paths = append(paths, l.path)
		}
	}
	return paths
}
