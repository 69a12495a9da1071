package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/problem"
)

// The most that the inputs of a queued plan may be.
const (
	MaxInputBytes = 64 << 20
	maxInputFiles = 20_000
)

// Input is a file or directory of [Plan.Inputs].
type Input struct {
	Path string      // absolute, on the machine that has read it
	Mode fs.FileMode // permissions, and fs.ModeDir for a directory
	Data []byte      // of a file
}

// Unqueueable returns what keeps the plan from running on other machines, as a [problem.List]; nil
// if nothing does.
func (p *Plan) Unqueueable() error {
	var all problem.List
	add := func(file, what, fix string) { all = append(all, problem.Problem{File: file, What: what, Fix: fix}) }
	if p.Rollout != nil {
		all = append(all, p.Uses.At("rollout", "a rollout decides from earlier runs which jobs are next, and a queue runs all jobs", "remove it, or use millhand run"))
	}
	if p.Evidence != nil {
		all = append(all, p.Uses.At("evidence", "the events of a queued run are recorded by several workers, so they are not one chain", "remove it, or use millhand run"))
	}
	all = append(all, p.unqueueableJobs()...)
	for _, h := range p.Hooks {
		if h.On.OfRun() {
			add(h.Source, fmt.Sprintf("the hook %s would run once for each job, on its worker", h.On), "use "+strings.Replace(string(h.On), "run_", "job_", 1))
		}
	}
	for _, f := range slices.Concat(p.Scripts.ToolFiles, p.Scripts.Plugins) {
		if !f.Workspace {
			add("js", fmt.Sprintf("the modules of %s are searched on this machine, and workers may be others", problem.Quote(f.Name)), "write a path in the repository: "+WorkspacePrefix+"PATH")
		}
	}
	processes := p.processes()
	for _, name := range slices.Sorted(maps.Keys(processes)) {
		for _, path := range processes[name].Write {
			if p.Uses != nil && p.Uses.Trees[path] {
				add(name, "write: "+problem.Quote(path)+" is a path on this machine, and workers may be others", "write an absolute path of the workers")
			}
		}
	}
	if p.Uses != nil {
		all = append(all, p.Uses.Fixed...)
	}
	if what := tooLarge(p.Inputs()); what != "" && len(all) == 0 {
		add("inputs", what, "move what jobs do not need to other directories, or put it into the repository")
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// unqueueableJobs returns the reasons of jobs, one for each repository and each task.
func (p *Plan) unqueueableJobs() problem.List {
	var all problem.List
	repos, outputs := map[Repo]bool{}, map[string]bool{}
	for _, j := range slices.Concat(p.Jobs, p.Elsewhere) {
		if j.Repo.Kind != RepoURL && !repos[j.Repo] {
			repos[j.Repo] = true
			all = append(all, p.Uses.At("job "+j.ID, fmt.Sprintf("repository %s is a path on this machine, and workers may be others", j.Repo.Name), "use url:"))
		}
		if j.Output.Path != "" && !outputs[j.Task] {
			outputs[j.Task] = true
			all = append(all, p.Uses.At("output of "+j.ID, fmt.Sprintf("output.file %s would be written on the machine of the worker", problem.Quote(j.Output.Path)), "remove it: the report has the final message"))
		}
	}
	return all
}

// tooLarge reports the size of files if they exceed a limit, with the largest one; "" if not.
func tooLarge(paths []string) string {
	if len(paths) > maxInputFiles {
		return fmt.Sprintf("the plan reads %d files, and a queue stores at most %d", len(paths), maxInputFiles)
	}
	total, largest, which := int64(0), int64(-1), ""
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		total += info.Size()
		if info.Size() > largest {
			largest, which = info.Size(), path
		}
	}
	if total <= MaxInputBytes {
		return ""
	}
	return fmt.Sprintf("the files that the plan reads have %d MiB, and a queue stores at most %d MiB; the largest is %s", total>>20, MaxInputBytes>>20, which)
}

// ReadInputs reads the inputs of the plan.
func (p *Plan) ReadInputs() ([]Input, error) {
	var all []Input
	left := MaxInputBytes
	for _, path := range p.Inputs() {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read the inputs of the plan: %w", err)
		}
		in := Input{Path: path, Mode: info.Mode() & (fs.ModeDir | fs.ModePerm)}
		if !info.IsDir() {
			if in.Data, err = userfile.ReadRegular(path, left); err != nil {
				return nil, fmt.Errorf("read the inputs of the plan: %s: %w", path, err)
			}
			left -= len(in.Data)
		}
		all = append(all, in)
	}
	return all, nil
}

// Materialize writes inputs below a new or empty directory, each at its absolute path there, so
// that relative references between them stay as they are; see [Below].
func Materialize(root string, inputs []Input) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, in := range inputs {
		if !filepath.IsAbs(in.Path) || filepath.Clean(in.Path) != in.Path {
			return fmt.Errorf("write the inputs of the plan: invalid path %s", problem.Quote(in.Path))
		}
		if err := in.write(r); err != nil {
			return fmt.Errorf("write the inputs of the plan: %w", err)
		}
	}
	return fs.WalkDir(r.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "." || !e.IsDir() {
			return err
		}
		return r.Chmod(path, 0o755) // whatever the umask is
	})
}

func (in Input) write(r *os.Root) error {
	path := strings.TrimLeft(in.Path, string(filepath.Separator))
	if in.Mode.IsDir() {
		return r.MkdirAll(cmp.Or(path, "."), 0o755)
	}
	if err := r.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := r.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(in.Data)
	return errors.Join(err, f.Chmod(in.Mode.Perm()|0o400), f.Close())
}
