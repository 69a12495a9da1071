package find

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/search"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed glob.md
var globDescription string

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"glob pattern, for example **/*.go, src/**/*.{ts,tsx} or *.c,*.h"`
	Path    string `json:"path,omitempty" jsonschema:"directory to search (default: the workspace root)"`
}

// Glob returns the tool glob.
func Glob() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "glob", Description: globDescription, ReadOnly: true, Cached: true, Deadline: time.Minute}, prepareGlob)
}

func prepareGlob(env Env, in globInput) (tool.Pending, error) {
	if in.Pattern == "" {
		return tool.Pending{}, errors.New("pattern is empty; specify a glob such as **/*.go")
	}
	p, err := searchBase(env, in.Path)
	if err != nil {
		return tool.Pending{}, err
	}
	pattern, outside, err := patternsBelow(env, p, in.Pattern)
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: in.Pattern, Needs: env.SearchNeeds("glob", in.Pattern, p), Names: []string{p.Rel, path.Join(p.Rel, literal(pattern))}, Do: func(ctx context.Context) (tool.Result, error) {
		scope, done, err := searchScope(env, p)
		if err != nil {
			return tool.Result{}, err
		}
		defer done()
		found, err := search.Glob(ctx, scope, pattern, searchLimit)
		if err != nil {
			return tool.Result{}, fmt.Errorf("glob %s: %w", in.Pattern, err)
		}
		for i := range found.Files {
			found.Files[i].Path = foundName(p, scope, found.Files[i].Path)
		}
		res := globResult(found)
		if outside && found.Total == 0 {
			res.Output += "\n(patterns match paths below the search directory; use path to search another directory)"
		}
		if found.Total == 0 {
			res.Output += backslashNote(in.Pattern)
		}
		return res, nil
	}}, nil
}

// literal returns the directories at the start of a pattern that have no wildcard.
func literal(pattern string) string {
	before := pattern[:strings.IndexAny(pattern+"*", `*?[{\`)]
	return before[:strings.LastIndexByte(before, '/')+1]
}

// backslashNote is a note about globs without a match that separate names as on Windows.
func backslashNote(globs string) string {
	if !strings.Contains(globs, `\`) {
		return ""
	}
	return "\n(a backslash in a glob escapes the next character; use / between names)"
}

// patternsBelow is patternBelow for each of several patterns.
func patternsBelow(env Env, base workspace.Path, patterns string) (below string, outside bool, err error) {
	list, err := search.SplitGlobs(patterns)
	if err != nil {
		return "", false, fmt.Errorf("glob %s: %w", cut.Title(patterns), err)
	}
	for i, pattern := range list {
		var beyond bool
		if list[i], beyond, err = patternBelow(env, base, pattern); err != nil {
			return "", false, err
		}
		outside = outside || beyond
	}
	return strings.Join(list, ","), outside, nil
}

// patternBelow makes an absolute pattern at or below the directory to search
// relative to it. A pattern with ".." is an error, because it can't match.
// outside reports that the pattern may be meant for another directory; a
// leading slash otherwise only anchors it.
func patternBelow(env Env, base workspace.Path, pattern string) (below string, outside bool, err error) {
	if slices.Contains(strings.Split(strings.TrimPrefix(pattern, "!"), "/"), "..") {
		return "", false, fmt.Errorf("invalid pattern %s: \"..\" never matches; set path to the directory to search and use a pattern relative to it", cut.Title(pattern))
	}
	fixed := pattern[:strings.LastIndexByte(pattern[:literalEnd(pattern)], '/')+1]
	if len(fixed) > 1 && strings.ContainsAny(fixed[:1], "~$%") || strings.HasPrefix(fixed, "file:") {
		dir, err := env.Spelled(strings.TrimSuffix(fixed, "/"))
		if err != nil {
			return "", false, fmt.Errorf("glob: %w", err)
		}
		pattern, fixed = dir+"/"+pattern[len(fixed):], dir+"/"
	}
	if !strings.HasPrefix(pattern, "/") {
		return pattern, false, nil
	}
	dir, err := env.Workspace.Resolve(fixed)
	if err != nil {
		return pattern, true, nil //nolint:nilerr // not a path, but possibly a pattern
	}
	rest := pattern[len(fixed):]
	if dir.Abs == base.Abs {
		return "/" + rest, false, nil
	}
	if rel, ok := strings.CutPrefix(dir.Abs, strings.TrimSuffix(base.Abs, "/")+"/"); ok {
		return "/" + quoteGlob(rel) + "/" + rest, false, nil
	}
	return pattern, true, nil
}

// literalEnd returns the index of the first special character of a pattern.
func literalEnd(pattern string) int {
	if i := strings.IndexAny(pattern, `*?[{}\`); i >= 0 {
		return i
	}
	return len(pattern)
}

// quoteGlob returns a pattern that matches exactly one path.
func quoteGlob(name string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, ",", `\,`, `\`, `\\`).Replace(name)
}

func globResult(found search.GlobResult) tool.Result {
	var out strings.Builder
	for _, f := range found.Files {
		out.WriteString(textcut.Path(f.Path) + "\n")
	}
	if len(found.Files) == 0 {
		out.WriteString("No files found")
	}
	if found.Truncated {
		fmt.Fprintf(&out, "\n(results truncated: showing the %d newest of %d files; use a narrower pattern or path)", len(found.Files), found.Total)
	}
	out.WriteString(skippedNote(found.Skipped))
	return tool.Result{Output: out.String()}
}
