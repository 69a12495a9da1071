package tasks

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// outputOf returns the file for a job's final message. Nothing but a plain file below the
// manifest's directory is accepted, as a model writes what is in it.
func outputOf(t *task, s scope) OutputFile {
	from := t.output.file
	if from == nil || from.Refused(policy.OutputFile, "output.file", "") {
		return OutputFile{}
	}
	name, ok := from.render(s)
	if !ok || from.Outside(form.ResolvePath(from.Src.Dir, name), name) {
		return OutputFile{}
	}
	if fault := outputFault(from.Src.Dir, name); fault != "" {
		from.Problem("invalid output file "+problem.Quote(name), fault)
		return OutputFile{}
	}
	return OutputFile{Dir: from.Src.Dir, Path: path.Clean(name)}
}

// OutputBelow returns a file below a directory, for a command line that is limited as a manifest is.
func OutputBelow(dir, name string) (OutputFile, error) {
	if fault := outputFault(dir, name); fault != "" {
		return OutputFile{}, fmt.Errorf("invalid output file %q; %s", name, fault)
	}
	return OutputFile{Dir: dir, Path: path.Clean(name)}, nil
}

// outputFault returns the fix for an invalid output file, "" for a valid one.
func outputFault(dir, name string) string {
	if !filepath.IsLocal(name) || path.Clean(name) == "." || strings.HasSuffix(name, "/") {
		return "write the path of a file below the manifest's directory, for example report.md"
	}
	at := dir
	names := strings.Split(path.Clean(name), "/")
	for i, entry := range names {
		if strings.EqualFold(entry, ".git") {
			return "choose a path outside of .git"
		}
		at = filepath.Join(at, entry)
		info, err := os.Lstat(at)
		switch last := i == len(names)-1; {
		case err != nil: // does not exist, or the run will report it
		case info.Mode()&os.ModeSymlink != 0:
			return at + " is a symlink: choose a path without one"
		case info.IsDir() == last:
			return at + " exists: choose another path"
		case last && !info.Mode().IsRegular():
			return at + " is not a regular file: choose another path"
		}
	}
	return ""
}

// checkOutputs records jobs that would write the same file.
func checkOutputs(drafts []*draft) {
	first := map[string]*draft{}
	for _, d := range drafts {
		out := d.job.Output
		if out.Path == "" || d.job.Skip != "" || !d.task.named || d.unsure {
			continue
		}
		key := strings.ToLower(filepath.Join(out.Dir, out.Path))
		if other := first[key]; other != nil {
			d.task.output.file.Problem(fmt.Sprintf("the jobs %s and %s would both write %s", other.job.ID, d.job.ID, problem.Quote(out.Path)),
				"write ${{ matrix.KEY }}, ${{ repo.name }} or ${{ task.id }} into the path")
			continue
		}
		first[key] = d
	}
}
