package landing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// Excess is a limit of a task's change that a job exceeds.
type Excess struct {
	limit string // as in a manifest
	path  string // "" for all changes
	what  string // what exceeds it
}

func (e Excess) String() string {
	if e.path == "" {
		return fmt.Sprintf("%s (%s)", e.what, e.limit)
	}
	return fmt.Sprintf("%s: %s (%s)", e.path, e.what, e.limit)
}

// Excesses returns the limits that changes in a work tree exceed; below is the workspace in it, "" for the root. Paths that git would not commit count as
// files without lines.
func Excesses(ctx context.Context, tree *gitops.Repo, below string, limits tasks.Change, cs *state.ChangeSet) ([]Excess, error) {
	allowed, err := parseGlobs(limits.Paths)
	if err != nil {
		return nil, err
	}
	paths, added, removed := map[string]bool{}, 0, 0
	var over []Excess
	count := func(file string) {
		if !paths[file] && limits.Paths != nil && !inScope(allowed, file, below) {
			over = append(over, Excess{"paths: " + strings.Join(limits.Paths, ", "), file, "may not be changed"})
		}
		paths[file] = true
	}
	for _, c := range cs.Changes {
		count(c.Path)
		added, removed = added+c.Added, removed+c.Removed
	}
	for _, r := range cs.Refused {
		count(r.Path)
	}
	if n := len(paths); limits.MaxFiles > 0 && n > limits.MaxFiles {
		over = append(over, Excess{limit: fmt.Sprintf("max_files: %d", limits.MaxFiles), what: figures.Count(n, "file") + " changed"})
	}
	if n := added + removed; limits.MaxLines > 0 && n > limits.MaxLines {
		over = append(over, Excess{limit: fmt.Sprintf("max_lines: %d", limits.MaxLines), what: fmt.Sprintf("%s changed, %d added and %d removed", figures.Count(n, "line"), added, removed)})
	}
	if !limits.NoDeletedTests {
		return over, nil
	}
	var files []testcases.File
	err = tree.Versions(ctx, cs, func(c state.Change, before, after []byte) {
		f := testcases.File{Path: c.Path}
		if c.Kind != state.Added {
			f.Before = testcases.Read(c.Path, before)
		}
		if c.Kind != state.Deleted {
			f.After = testcases.Read(c.Path, after)
		}
		files = append(files, f)
	})
	for _, l := range testcases.Losses(files) {
		over = append(over, Excess{"no_deleted_tests", l.Path, l.What})
	}
	return over, err
}

// parseGlobs parses globs, which the plan has checked.
func parseGlobs(globs []string) ([]pathglob.Pattern, error) {
	patterns := make([]pathglob.Pattern, len(globs))
	for i, glob := range globs {
		var err error
		if patterns[i], err = pathglob.Parse(glob); err != nil {
			return nil, fmt.Errorf("invalid glob %q: %w", glob, err)
		}
	}
	return patterns, nil
}

// inScope reports whether a glob matches a path, or a directory that it is in, in the
// repository or the workspace.
func inScope(globs []pathglob.Pattern, file, below string) bool {
	covers := func(name string) bool {
		return slices.ContainsFunc(globs, func(p pathglob.Pattern) bool { return p.Covers(name) })
	}
	return covers(file) || below != "" && covers(strings.TrimPrefix(file, below+"/"))
}

// Exceeded lists limits that changes exceed.
func Exceeded(over []Excess) string {
	list := make([]string, len(over))
	for i, e := range over {
		list[i] = e.String()
	}
	if len(list) > 3 {
		list = append(list[:3], fmt.Sprintf("and %d more", len(over)-3))
	}
	return "the changes exceed the task's change limits: " + strings.Join(list, "; ")
}

// Reduce returns the text about exceeded limits in the prompt of the next attempt.
func Reduce(over []Excess) string {
	var b strings.Builder
	b.WriteString("Your changes exceed the limits of the task. Undo what is beyond them: restore the content of files that may not be changed and remove new ones, make the change smaller, restore tests that were deleted or skipped. Then finish again.\n")
	for i, e := range over {
		if i == mostReturned {
			fmt.Fprintf(&b, "\n(and %d more)\n", len(over)-i)
			break
		}
		at := ""
		if e.path != "" {
			at = fmt.Sprintf(" path=%q", e.path)
		}
		fmt.Fprintf(&b, "\n<exceeded limit=%q%s result=%q />\n", e.limit, at, e.what)
	}
	return b.String()
}

// Scope returns the text about the limits in the first prompt; "" for none.
func Scope(limits tasks.Change) string {
	if limits.IsZero() {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nLimits of your changes, which are checked when you finish:\n")
	if limits.Paths != nil {
		fmt.Fprintf(&b, "- Change only paths that match: %s\n", strings.Join(limits.Paths, ", "))
	}
	if limits.MaxFiles > 0 {
		fmt.Fprintf(&b, "- Change at most %s.\n", figures.Count(limits.MaxFiles, "file"))
	}
	if limits.MaxLines > 0 {
		fmt.Fprintf(&b, "- Add and remove at most %s in total.\n", figures.Count(limits.MaxLines, "line"))
	}
	if limits.NoDeletedTests {
		b.WriteString("- Don't delete, empty or skip tests.\n")
	}
	return b.String()
}

// OutOfScope returns the stop of a job whose changes exceed the limits of its task.
func OutOfScope(over []Excess) *ending.Stop {
	if len(over) == 0 {
		return nil
	}
	return &ending.Stop{Code: event.CodeScope, Detail: Exceeded(over)}
}
