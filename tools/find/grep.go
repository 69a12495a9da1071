package find

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/search"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed grep.md
var grepDescription string

type grepInput struct {
	Pattern string `json:"pattern" jsonschema:"regular expression in RE2 syntax, matched against each line"`
	Path    string `json:"path,omitempty" jsonschema:"file or directory to search (default: the workspace root)"`
	Include string `json:"include,omitempty" jsonschema:"globs of the files to search, for example *.go, *.{ts,tsx} or *.js,!*.min.js"`
}

// Grep returns the tool grep.
func Grep() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "grep", Description: grepDescription, ReadOnly: true, Cached: true, Deadline: 2 * time.Minute}, prepareGrep)
}

func prepareGrep(env Env, in grepInput) (tool.Pending, error) {
	if in.Pattern == "" {
		return tool.Pending{}, errors.New("pattern is empty; specify a regular expression")
	}
	p, err := searchBase(env, in.Path)
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: in.Pattern, Needs: append(env.SearchNeeds("grep", in.Pattern, p), namedNeeds(env, p)...), Names: []string{p.Rel}, Do: func(ctx context.Context) (tool.Result, error) {
		scope, done, err := searchScope(env, p)
		if err != nil {
			return tool.Result{}, err
		}
		defer done()
		found, err := search.Grep(ctx, scope, search.Query{Pattern: in.Pattern, Include: in.Include, Limit: searchLimit})
		if err != nil {
			return tool.Result{}, fmt.Errorf("grep %s: %w", in.Pattern, err)
		}
		for i := range found.Matches {
			found.Matches[i].Path = foundName(p, scope, found.Matches[i].Path)
		}
		res := grepResult(found)
		if found.NoFile {
			res.Output += backslashNote(in.Include)
		}
		return res, nil
	}}, nil
}

// shownLine returns the text of a match, with marks where the line is
// truncated.
func shownLine(m search.Match) string {
	text := m.Text
	if m.Left > 0 {
		text = fmt.Sprintf("(%s omitted) ...%s", figures.Count(m.Left, "byte"), text)
	}
	if m.More {
		text += "... (line truncated)"
	}
	return text
}

// namedNeeds lists the permissions for searching a single file given as path.
// An unreadable file in a directory is skipped, but this one is denied.
func namedNeeds(env Env, p workspace.Path) []permission.Request {
	if st, err := env.Workspace.Stat(p); err != nil || st.IsDir() || env.IsSavedOutput(p) {
		return nil
	}
	return []permission.Request{permission.Need("read", access.Names(p)...)}
}

func grepResult(found search.GrepResult) tool.Result {
	var out strings.Builder
	if found.Total == 0 {
		out.WriteString("No files found")
	} else {
		noun := "matches"
		if found.Total == 1 {
			noun = "match"
		}
		fmt.Fprintf(&out, "Found %d %s\n", found.Total, noun)
	}
	file, replaced := "", 0
	for _, m := range found.Matches {
		if m.Replaced {
			replaced++
		}
		if m.Path != file {
			file = m.Path
			fmt.Fprintf(&out, "\n%s:\n", textcut.Path(file))
		}
		fmt.Fprintf(&out, "  Line %d: %s\n", m.Line, shownLine(m))
	}
	if replaced > 0 {
		fmt.Fprintf(&out, "\n(not UTF-8: bytes of %s shown as U+FFFD; edit keeps them)", figures.Count(replaced, "line"))
	}
	if found.Truncated {
		fmt.Fprintf(&out, "\n(results truncated: showing %d of %d matches; use a narrower pattern, path or include)", len(found.Matches), found.Total)
	}
	if found.NoFile {
		out.WriteString("\n(no file that was searched matches include)")
	}
	out.WriteString(skippedNote(found.Skipped))
	return tool.Result{Output: out.String()}
}
