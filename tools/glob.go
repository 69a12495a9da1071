package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/tools/search"
)

//go:embed glob.md
var globDescription string

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"glob to match, as **/*.go or src/**/*.{ts,tsx}"`
	Path    string `json:"path,omitempty" jsonschema:"folder to search, the workspace's root if not given"`
}

func globTool() Tool {
	return Define(Spec{Name: "glob", Description: globDescription, ReadOnly: true, Deadline: time.Minute}, prepareGlob)
}

func prepareGlob(env *Env, in globInput) (Pending, error) {
	if in.Pattern == "" {
		return Pending{}, errors.New("pattern is empty: give a glob like **/*.go")
	}
	p, err := searchBase(env, in.Path)
	if err != nil {
		return Pending{}, err
	}
	return Pending{Title: in.Pattern, Needs: searchNeeds(env, "glob", in.Pattern, p), Do: func(ctx context.Context) (Result, error) {
		scope, done, err := searchScope(env, p)
		if err != nil {
			return Result{}, err
		}
		defer done()
		found, err := search.Glob(ctx, scope, in.Pattern, searchLimit)
		if err != nil {
			return Result{}, fmt.Errorf("glob %s: %w", in.Pattern, err)
		}
		for i := range found.Files {
			found.Files[i].Path = foundName(p, scope, found.Files[i].Path)
		}
		return globResult(found), nil
	}}, nil
}

func globResult(found search.GlobResult) Result {
	var out strings.Builder
	for _, f := range found.Files {
		out.WriteString(f.Path + "\n")
	}
	if len(found.Files) == 0 {
		out.WriteString("No files found")
	}
	if found.Truncated {
		fmt.Fprintf(&out, "\n(only the %d newest of %d files are shown: use a narrower pattern or path)", len(found.Files), found.Total)
	}
	out.WriteString(skippedNote(found.Skipped))
	return Result{Output: out.String(), Metadata: map[string]any{"count": found.Total, "truncated": found.Truncated}}
}
