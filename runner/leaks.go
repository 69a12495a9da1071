package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/redact"
)

// leak is a secret that the job's change would put into the repository.
type leak struct {
	path string
	line int // 0 if the file has no lines
	kind string
	text string // the secret itself: it is not to be told to anybody
}

func (l leak) String() string {
	if l.line == 0 {
		return fmt.Sprintf("%s (%s)", l.path, l.kind)
	}
	return fmt.Sprintf("%s:%d (%s)", l.path, l.line, l.kind)
}

// findLeaks looks for secrets in what the job's change adds. What one of the
// changed files held before is no leak: it is in the repository already.
func (j *job) findLeaks(ctx context.Context) ([]leak, error) {
	changes, err := j.committed(ctx)
	if err != nil {
		return nil, err
	}
	var leaks []leak
	err = j.tree.Added(ctx, changes, func(a gitops.Addition) error {
		for _, f := range j.Redact.Find(a.Path) {
			leaks = append(leaks, leak{path: j.Redact.Text(a.Path), kind: f.Kind + ", in its name", text: a.Path[f.Start:f.End]})
		}
		for _, f := range j.Redact.Find(a.Text) {
			l := leak{path: a.Path, kind: f.Kind, text: a.Text[f.Start:f.End]}
			if a.Line > 0 {
				l.line = a.Line + strings.Count(a.Text[:f.Start], "\n")
			}
			leaks = append(leaks, l)
		}
		return nil
	})
	if err != nil || len(leaks) == 0 {
		return nil, err
	}
	err = j.tree.HadText(ctx, changes, func(text string) {
		leaks = slices.DeleteFunc(leaks, func(l leak) bool { return strings.Contains(text, l.text) })
	})
	return leaks, err
}

// committed are the job's changes as a commit would have them: a file that the
// user had changed before is committed whole, and what the user wrote into it is
// in no commit yet.
func (j *job) committed(ctx context.Context) (*gitops.ChangeSet, error) {
	mixed := slices.ContainsFunc(j.changes.Changes, func(c gitops.Change) bool { return slices.Contains(j.dirty, c.Path) })
	if j.Commit == nil || !j.inPlace || j.base != "" && !mixed {
		return j.changes, nil
	}
	base, err := j.tree.SnapshotOf(j.base)
	if err != nil {
		return nil, err
	}
	all, err := j.tree.Changes(ctx, base, j.Commit.Protect)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, c := range all.Changes {
		if !slices.ContainsFunc(j.changes.Changes, func(own gitops.Change) bool { return own.Path == c.Path }) {
			others = append(others, c.Path)
		}
	}
	return all.Without(others), nil
}

// leaked ends a job whose change must not become a commit, or a patch that
// somebody will apply.
func (j *job) leaked(leaks []leak) *stop {
	if len(leaks) == 0 {
		return nil
	}
	var where []string
	for _, l := range leaks {
		where = append(where, l.String())
	}
	text := "the change holds secrets that were not in the repository: " + someOf(slices.Compact(where))
	if j.Commit == nil {
		j.warn(text + "; they are left out of the patch")
		return nil
	}
	return &stop{
		outcome: event.Policy, exit: event.ExitPolicy, code: event.CodeSecret,
		reason: text + "; nothing was committed, and they are left out of the patch",
	}
}

// withoutLeaks takes secrets out of a patch: those of the change, so that the
// rest of it can still be applied, and the keys that millhand holds wherever
// they stand.
func (j *job) withoutLeaks(patch []byte, leaks []leak) []byte {
	if len(leaks) == 0 && len(j.Redact.Find(string(patch))) == 0 {
		return patch
	}
	text := string(patch)
	for _, l := range leaks {
		for line := range strings.Lines(l.text) {
			if line = strings.TrimRight(line, "\r\n"); len(line) >= leastLeak {
				text = strings.ReplaceAll(text, line, redact.Mark)
			}
		}
	}
	clean := j.Redact.Held(text)
	if clean != text {
		j.warn("a key that millhand holds was in the repository before, in lines that the patch shows: it is left out, so the patch can't be applied")
	}
	return []byte(clean)
}

// leastLeak is how long a line is, in bytes, that is a part of a secret.
const leastLeak = 8

// opaque lists the files whose leaks can't be taken out of a patch.
func opaque(leaks []leak) []string {
	var paths []string
	for _, l := range leaks {
		if l.line == 0 {
			paths = append(paths, l.path)
		}
	}
	return paths
}
