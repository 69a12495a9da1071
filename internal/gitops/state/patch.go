package state

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/text/linediff"
)

// maxPatchSize is the maximum size of a patch in bytes; it is built in memory.
const maxPatchSize = 512 << 20

// Patch writes the changes as a unified diff in git's extended format, which
// git apply accepts on the base of the changes. Binary files, and those too
// large to be compared, are written as complete literals.
func (r *Reader) Patch(ctx context.Context, cs *ChangeSet) ([]byte, error) {
	tree, err := r.openWorkTree(false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	var out bytes.Buffer
	for _, c := range cs.Changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if out.Len() > maxPatchSize {
			return nil, fmt.Errorf("patch exceeds %d MiB", maxPatchSize>>20)
		}
		if err := cs.writeChange(&out, tree, c.Path); err != nil {
			return nil, fmt.Errorf("write patch of %s: %w", c.Path, err)
		}
	}
	return out.Bytes(), nil
}

func (cs *ChangeSet) writeChange(out *bytes.Buffer, tree *content.Tree, path string) error {
	e := cs.edits[path]
	v, err := cs.versions(tree, path)
	if err != nil {
		return err
	}
	if e.kindOfChange() != Modified || kindOf(e.before.Mode) == kindOf(e.after.Mode) {
		return writeDiff(out, tree, path, e, v)
	}
	// Git shows a file that became a symlink as a deletion and an addition.
	gone, come := v, v
	gone.after, come.before = nil, nil
	gone.known, come.known, come.beforeAvailable = v.beforeAvailable, v.known || v.after != nil, true
	if err := writeDiff(out, tree, path, edit{before: e.before}, gone); err != nil {
		return err
	}
	return writeDiff(out, tree, path, edit{after: e.after, stored: e.stored}, come)
}

// kindOf distinguishes files, symlinks and submodules, but not executable files
// from others.
func kindOf(m filemode.FileMode) filemode.FileMode { return m &^ 0o777 }

// writeDiff writes the section of one path.
func writeDiff(out *bytes.Buffer, tree *content.Tree, path string, e edit, v versions) error {
	writeHeader(out, path, e)
	switch {
	case e.before.Hash == e.after.Hash:
		return nil
	case v.binary():
		return writeBinary(out, tree, path, e, v)
	case len(v.before)+len(v.after) > 0:
		writeNames(out, path, e)
		writeHunks(out, splitLines(v.before), splitLines(v.after))
	}
	return nil
}

func writeHeader(out *bytes.Buffer, path string, e edit) {
	fmt.Fprintf(out, "diff --git %s %s\n", gitdir.QuotePath("a/"+path), gitdir.QuotePath("b/"+path))
	mode := ""
	switch {
	case e.before.Mode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", uint32(e.after.Mode))
	case e.after.Mode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", uint32(e.before.Mode))
	case e.before.Mode != e.after.Mode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", uint32(e.before.Mode), uint32(e.after.Mode))
	default:
		mode = fmt.Sprintf(" %06o", uint32(e.after.Mode))
	}
	if e.before.Hash != e.after.Hash {
		fmt.Fprintf(out, "index %s..%s%s\n", e.before.Hash, e.after.Hash, mode)
	}
}

func writeNames(out *bytes.Buffer, path string, e edit) {
	name := func(prefix string, s store.State) string {
		if s.Mode == 0 {
			return "/dev/null"
		}
		name := gitdir.QuotePath(prefix + path)
		if strings.Contains(name, " ") {
			name += "\t" // so that parsers do not read the rest as a date
		}
		return name
	}
	fmt.Fprintf(out, "--- %s\n+++ %s\n", name("a/", e.before), name("b/", e.after))
}

// contextLines is how many unchanged lines a hunk shows around its changes.
const contextLines = 3

func writeHunks(out *bytes.Buffer, a, b []string) {
	diffs := linediff.Compare(a, b)
	for len(diffs) > 0 {
		n := 1
		for n < len(diffs) && diffs[n].Start-diffs[n-1].End <= 2*contextLines {
			n++
		}
		writeHunk(out, a, b, diffs[:n])
		diffs = diffs[n:]
	}
}

func writeHunk(out *bytes.Buffer, a, b []string, diffs []lcs.Diff) {
	first, last := diffs[0], diffs[len(diffs)-1]
	before := min(contextLines, first.Start)
	after := min(contextLines, len(a)-last.End)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		lineRange(first.Start-before, last.End+after),
		lineRange(first.ReplStart-before, last.ReplEnd+after))
	at := first.Start - before
	for _, d := range diffs {
		writeLines(out, ' ', a[at:d.Start])
		writeLines(out, '-', a[d.Start:d.End])
		writeLines(out, '+', b[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	writeLines(out, ' ', a[at:at+after])
}

// lineRange formats a range of lines, given from 0. An empty one is written
// with the number of the line before it.
func lineRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprintf("%d", from+1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *bytes.Buffer, sign byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(sign)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// writeBinary writes the new content, and the old one if available, so that the
// patch can be reversed.
func writeBinary(out *bytes.Buffer, tree *content.Tree, path string, e edit, v versions) error {
	after := v.after
	if e.after.Mode != 0 && after == nil {
		var err error
		if after, err = tree.ReadAll(path, e.after, e.stored); err != nil {
			return err
		}
	}
	out.WriteString("GIT binary patch\n")
	if err := writeLiteral(out, after); err != nil {
		return err
	}
	if !v.beforeAvailable {
		return nil
	}
	return writeLiteral(out, v.before)
}
