package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed write.md
var writeDescription string

type writeInput struct {
	FilePath string `json:"filePath" jsonschema:"file to write: absolute, or relative to the workspace"`
	Content  string `json:"content" jsonschema:"complete content of the file"`
}

// Write returns the tool write.
func Write() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "write", Description: writeDescription, Writes: true, Deadline: time.Minute}, prepareWrite)
}

func prepareWrite(env Env, in writeInput) (tool.Pending, error) {
	p, needs, err := env.Need("edit", in.FilePath, access.ToWrite)
	if err == nil {
		err = fileName(in.FilePath, p)
	}
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: p.Rel, Needs: needs, Do: func(ctx context.Context) (tool.Result, error) {
		return env.change(ctx, []workspace.Path{p}, func() (tool.Result, error) { return doWrite(ctx, env, p, in.Content) })
	}}, nil
}

func doWrite(ctx context.Context, env Env, p workspace.Path, content string) (tool.Result, error) {
	existed := env.Workspace.Exists(p)
	if existed && env.Workspace.Changed(p) {
		return tool.Result{}, changedOnDisk(p)
	}
	before, enc := "", encoding{}
	data, err := env.Workspace.ReadFile(p, maxEdit)
	switch {
	case err == nil:
		before, enc = decodeText(data)
		err = enc.replaceable(p, before)
	case errors.Is(err, workspace.ErrTooLarge):
		err = replaceableLarge(ctx, env, p)
	default:
		err = nil // a new file, or an error of the write
	}
	if err != nil {
		return tool.Result{}, err
	}
	if strings.HasPrefix(before, byteOrderMark) && !strings.HasPrefix(content, byteOrderMark) {
		content = byteOrderMark + content
	}
	data = enc.encode(content)
	if err := env.Workspace.WriteFile(p, data); err != nil {
		return tool.Result{}, err
	}
	var meta tool.Metadata
	meta.CountLines(before, content)
	if existed && before == content {
		return tool.Result{Output: p.String() + " already has this content; nothing changed.", Metadata: meta}, nil
	}
	verb := "Created"
	if existed {
		verb = "Replaced"
	}
	return tool.Result{Output: fmt.Sprintf("%s %s: %s, %s.%s", verb, p, figures.Count(cut.LineCount(content), "line"), figures.Count(len(data), "byte"), endsNote(before, content)), Metadata: meta}, nil
}

// byteOrderMark starts some text files. Models don't see it, so it is preserved
// for them.
const byteOrderMark = "\uFEFF"

// endsNote returns a note if a file's line endings changed, which models don't
// see either.
func endsNote(before, after string) string {
	if crlf := strings.Count(before, "\r\n"); crlf == 0 || 2*crlf < strings.Count(before, "\n") {
		return ""
	}
	if strings.Contains(after, "\r\n") || !strings.Contains(after, "\n") {
		return ""
	}
	return " Its line endings changed from CRLF to LF."
}

// The maximum sizes of a path, including its final NUL, and of a file name, in
// bytes.
const (
	maxPath = 4096
	maxName = 255
)

// fileName returns an error if a path, as given or as resolved, can't be that
// of a file to write.
func fileName(name string, p workspace.Path) error {
	if strings.HasSuffix(name, "/") {
		return fmt.Errorf("path %s ends in a slash: specify a file name", cut.Title(name))
	}
	if len(p.Abs) >= maxPath {
		return fmt.Errorf("path too long: %s has %d bytes, maximum %d", cut.Title(p.Rel), len(p.Abs), maxPath-1)
	}
	for component := range strings.SplitSeq(p.Abs, "/") {
		if len(component) > maxName {
			return fmt.Errorf("file name too long: %s has %d bytes, maximum %d", cut.Title(component), len(component), maxName)
		}
	}
	return nil
}

// changedOnDisk is the error for a file that changed since the session last
// read or wrote it.
func changedOnDisk(p workspace.Path) error {
	return fmt.Errorf("%s was modified on disk since you last read or wrote it; read it again first", p)
}
