package manifest

import (
	"fmt"
	"path"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// maxPatterns is the most globs of change.paths.
const maxPatterns = 1_000

var changePathsForm = form.Of[[]template.Template]{Type: form.UpTo(maxPatterns, form.ListOf(form.Glob)).Type, Read: readChangePaths}

// readChangePaths reads globs of the paths that a task may change.
func readChangePaths(v form.Value) ([]template.Template, bool) {
	globs, ok := form.UpTo(maxPatterns, form.ListOf(form.Of[template.Template]{Type: form.Glob.Type, Read: readChangePath})).Read(v)
	if ok && len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "name at least one glob, remove it, or use the profile readonly")
	}
	return globs, ok
}

func readChangePath(v form.Value) (template.Template, bool) {
	t, ok := template.ReadTemplate(v)
	if ok && t.Literal() {
		_, ok = ChangeGlob(v, t.Segments[0].Text)
	}
	return t, ok
}

// ChangeGlob cleans a glob of change.paths, or records what is wrong with it.
func ChangeGlob(v form.Value, glob string) (string, bool) {
	clean := strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	switch {
	case !v.ValidGlob(glob):
	case strings.HasPrefix(glob, "!"):
		v.Problem(fmt.Sprintf("glob %s: exclusions are not supported here", problem.Quote(glob)), "put the path under commit.protect")
	case path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
		v.Problem(fmt.Sprintf("glob %s is not in the workspace", problem.Quote(glob)), "write it relative to the workspace or the repository")
	case clean == "." || clean == "":
		return "**", true
	default:
		return clean, true
	}
	return "", false
}

// Change is what a task may change, as it is written.
type Change struct {
	tasks.Change
	Globs    []template.Template
	Unneeded tasks.Unneeded
	unneeded form.Value // if given
}

func (c *Change) keys() form.Table {
	return form.Table{
		{Name: "paths", Field: form.Into(&c.Globs, changePathsForm), Doc: "Globs of the only paths that may be changed, relative to the workspace or the repository; may contain ${{ VARIABLE }}"},
		{Name: "max_files", Field: form.Into(&c.MaxFiles, form.Positive()), Doc: "Number of changed files"},
		{Name: "max_lines", Field: form.Into(&c.MaxLines, form.Positive()), Doc: "Number of added and removed lines"},
		{Name: "no_deleted_tests", Field: form.Into(&c.NoDeletedTests, form.Bool), Def: "false", Doc: "Whether tests may not be deleted, emptied or skipped"},
		{Name: "unneeded", Field: form.Noting(&c.unneeded, form.Into(&c.Unneeded, form.OneOf([]tasks.Unneeded{tasks.UnneededWarn, tasks.UnneededFail}))), Doc: "What happens with hunks that no verify command needs, and with new tests that pass without the change, which ablate finds: warn: a warning; fail: they are returned to the agent like a failed verify"},
	}
}

// ifPaths is change's key of a glob or a list of them.
func ifPaths(v form.Value) string {
	if v.IsList() {
		return "paths"
	}
	return ""
}
