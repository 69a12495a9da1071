package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/workspace"
)

//go:embed write.md
var writeDescription string

type writeInput struct {
	FilePath string `json:"filePath" jsonschema:"file to write, relative to the workspace or absolute"`
	Content  string `json:"content" jsonschema:"the whole content of the file"`
}

func writeTool() Tool {
	return Define(Spec{Name: "write", Description: writeDescription, Deadline: time.Minute}, prepareWrite)
}

func prepareWrite(env *Env, in writeInput) (Pending, error) {
	p, needs, err := needFile(env, "edit", in.FilePath, toWrite)
	if err != nil {
		return Pending{}, err
	}
	return Pending{Title: p.Rel, Needs: needs, Do: func(context.Context) (Result, error) {
		return doWrite(env, p, in.Content)
	}}, nil
}

func doWrite(env *Env, p workspace.Path, content string) (Result, error) {
	existed := env.Workspace.Exists(p)
	if existed && env.Workspace.Changed(p) {
		return Result{}, changedOnDisk(p)
	}
	if err := env.Workspace.WriteFile(p, []byte(content)); err != nil {
		return Result{}, err
	}
	verb := "Created"
	if existed {
		verb = "Replaced"
	}
	return Result{
		Output:   fmt.Sprintf("%s %s: %d lines, %d bytes.", verb, p.Rel, lineCount(content), len(content)),
		Metadata: map[string]any{"filepath": p.Rel, "exists": existed},
	}, nil
}

// changedOnDisk is the answer when a file is not what the session last saw.
func changedOnDisk(p workspace.Path) error {
	return fmt.Errorf("%s has changed on disk since you last read or wrote it: read it again first", p.Rel)
}

// lineCount counts lines; a last one without a newline counts.
func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
