package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/edit"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed edit.md
var editDescription string

// maxEdit is the maximum size of a file to edit, in bytes.
const maxEdit = 32 << 20

type editInput struct {
	FilePath   string `json:"filePath" jsonschema:"file to edit: absolute, or relative to the workspace"`
	OldString  string `json:"oldString" jsonschema:"text to replace, exactly as it is in the file"`
	NewString  string `json:"newString" jsonschema:"replacement text, inserted literally"`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema:"replace every occurrence of oldString (default false)"`
}

// Edit returns the tool edit.
func Edit() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "edit", Description: editDescription, Writes: true, Deadline: time.Minute}, prepareEdit)
}

func prepareEdit(env Env, in editInput) (tool.Pending, error) {
	p, needs, err := env.Need("edit", in.FilePath, access.ToWrite)
	if err == nil && in.OldString == "" {
		err = fileName(in.FilePath, p)
	}
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: p.Rel, Needs: needs, Do: func(ctx context.Context) (tool.Result, error) {
		return env.change(ctx, []workspace.Path{p}, func() (tool.Result, error) {
			if in.OldString == "" && in.OldString != in.NewString {
				return createByEdit(ctx, env, p, in.NewString)
			}
			return doEdit(env, p, in)
		})
	}}, nil
}

// createByEdit creates a new file, for an empty oldString.
func createByEdit(ctx context.Context, env Env, p workspace.Path, content string) (tool.Result, error) {
	if _, err := env.Workspace.Stat(p); err == nil {
		return tool.Result{}, fmt.Errorf("%s already exists, and an empty oldString only creates new files: set oldString to the text to replace, or use write to overwrite the file", p)
	}
	return doWrite(ctx, env, p, content)
}

func doEdit(env Env, p workspace.Path, in editInput) (tool.Result, error) {
	if in.OldString == in.NewString { // checked before the file is read: the call is invalid whatever the file contains
		return tool.Result{}, fmt.Errorf("%w: nothing to change", edit.ErrIdentical)
	}
	st, err := env.Workspace.Stat(p)
	switch {
	case access.IsMissing(err):
		return tool.Result{}, env.NotFound(p)
	case err == nil && st.IsDir():
		return tool.Result{}, fmt.Errorf("%s is a directory; specify a file in it", p)
	case err == nil && env.Workspace.Changed(p):
		return tool.Result{}, changedOnDisk(p)
	}
	data, err := env.Workspace.ReadFile(p, maxEdit)
	if err != nil {
		return tool.Result{}, err
	}
	before, enc := decodeText(data)
	res, err := edit.Result{}, enc.editable(in.OldString, in.NewString)
	if err == nil && enc.unknown > 0 && trailing(before, in.OldString) {
		err = errTrailing
	}
	if err == nil {
		res, err = edit.Replace(before, in.OldString, in.NewString, in.ReplaceAll)
	}
	if errors.Is(err, edit.ErrNotFound) && enc.unknown > 0 && strings.IndexFunc(in.OldString, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		err = errOtherBytes
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("edit %s: %w", p, err)
	}
	if err := env.Workspace.WriteFile(p, enc.encode(res.Text)); err != nil {
		return tool.Result{}, err
	}
	meta := tool.Metadata{Matcher: res.Matcher}
	meta.CountLines(before, res.Text)
	output := fmt.Sprintf("Edit applied successfully to %s (%s).", p, figures.Count(res.Count, "replacement"))
	if res.Differs != "" {
		output += fmt.Sprintf(" oldString did not match exactly (different: %s). Unchanged text stays as it is in the file, and new text was adapted to it. The file now has:\n%s", res.Differs, res.Shown)
	}
	return tool.Result{Output: strings.TrimSuffix(output, "\n"), Metadata: meta}, nil
}
