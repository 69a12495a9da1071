package tasks

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/tasks/problem"
)

// uses is what a load uses of its machine. Directories are only walked for
// [Plan.Inputs], as most plans run where they were loaded.
type uses struct {
	files     map[string]bool   // and directories without what they contain
	trees     map[string]bool   // directories with what they contain, if they exist
	programs  map[string]bool   // absolute as written: of the system
	variables map[string]bool   // by name: whether the load got a value
	home      string            // of the user, which no manifest names
	event     string            // file of the CI's event; "" if it was not read
	list      []byte            // that was read from standard input; nil for none
	root      string            // directory with all that may be read, see [Below]; "" for no limit
	fixed     []problem.Problem // what another machine can't have
	places    map[string]value  // where the repository of a job, or the rollout, is written
}

func newUses() *uses {
	return &uses{files: map[string]bool{}, trees: map[string]bool{}, programs: map[string]bool{}, variables: map[string]bool{}, places: map[string]value{}}
}

// uses returns what the load of the value's file uses; nil if it does not belong to a plan.
func (v value) uses() *uses {
	if v.src.inputs == nil {
		return nil
	}
	return v.src.inputs.uses
}

// beyond reports whether a path is not below the inputs of a queued plan.
func (u *uses) beyond(path string) bool {
	return u != nil && u.root != "" && !pathtree.Within(path, u.root)
}

// recording returns getenv for what manifests name.
func (u *uses) recording(getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		u.variables[name] = u.variables[name] || value != ""
		return value
	}
}

// variable records a variable whose value the load does not need.
func (u *uses) variable(name string) {
	if u != nil {
		got := u.variables[name]
		u.variables[name] = got // false if it is new
	}
}

// reads records a file or directory.
func (u *uses) reads(path string) {
	if u != nil {
		u.files[path] = true
	}
}

// named records a file or directory that a value names.
func (u *uses) named(v value, path, written string) {
	u.reads(path)
	if isAbs(written) {
		u.fix(v, problem.Quote(written)+" is an absolute path, which workers may not have", "write it relative to the manifest")
	}
}

// listed records a list that was read from standard input.
func (u *uses) listed(data []byte) {
	if u != nil {
		u.list = append([]byte{}, data...)
	}
}

// tree records a path with everything below it. An absolute one is of the system, unless it
// is next to the manifest.
func (u *uses) tree(v value, path, written string) {
	switch {
	case u == nil:
	case !isAbs(written):
		u.trees[path] = true
	case pathtree.Within(path, v.src.dir):
		u.named(v, path, written)
	}
}

// program records a program with a path, as tree does.
func (u *uses) program(v value, path, written string) {
	switch {
	case u == nil:
	case isAbs(written) && !pathtree.Within(path, v.src.dir):
		u.programs[path] = true
	default:
		u.named(v, path, written)
	}
}

// command records a command line with absolute paths next to the manifest.
func (u *uses) command(v value, line string) {
	if dir := v.src.dir + string(filepath.Separator); u != nil && v.src.dir != "" && strings.Contains(line, dir) {
		u.fix(v, v.name+" contains an absolute path, which workers may not have: "+problem.Quote(dir+"..."), "write it relative to the manifest")
	}
}

// key records a file next to the manifest that keys come from. It is a secret, or reads one,
// and is not sent to other machines.
func (u *uses) key(v value, written string) {
	if path := resolvePath(v.src.dir, written); pathtree.Within(path, v.src.dir) || !isAbs(written) {
		u.fix(v, fmt.Sprintf("%s uses the file %s of this machine, and secrets are not sent to workers", v.name, problem.Quote(written)),
			"name an environment variable, a program on the PATH of the workers, or an absolute path of theirs")
	}
}

// keyCommand records the files of a command that prints keys.
func (u *uses) keyCommand(v value, words []string) {
	for i, word := range words {
		if program := strings.Contains(word, "/"); i == 0 && program || i > 0 && isFile(resolvePath(v.src.dir, word)) {
			u.key(v, word)
		}
	}
}

// fix records that a value means something else on other machines, or nothing.
func (u *uses) fix(v value, what, fix string) {
	if u != nil {
		u.fixed = append(u.fixed, v.src.Problem(v.use.Line, v.use.Column, what, fix))
	}
}

// locate records the locations of what a queue may refuse.
func (u *uses) locate(drafts []*draft, manifests []*manifest) {
	for _, d := range drafts {
		u.places["output of "+d.job.ID] = d.task.value
		u.places["job "+d.job.ID] = d.task.value
		if d.repo != nil && d.repo.src != nil {
			u.places["job "+d.job.ID] = d.repo.value
		}
	}
	for _, m := range manifests {
		if m.rollout != nil {
			u.places["rollout"] = m.rollout.value
		}
		if m.proof.node != nil {
			u.places["evidence"] = m.proof
		}
	}
}

// at returns a problem of a job, or of a key of the manifest, with its location if there is one.
func (u *uses) at(of, what, fix string) problem.Problem {
	if u != nil {
		if v := u.places[of]; v.src != nil && v.use != nil {
			return v.src.Problem(v.use.Line, v.use.Column, what, fix)
		}
	}
	return problem.Problem{File: of, What: what, Fix: fix}
}

func isAbs(written string) bool { return filepath.IsAbs(filepath.FromSlash(written)) }

// Inputs returns the files and directories of this machine that loading the plan has read
// or checked, or that its jobs read later: absolute and sorted. Programs that manifests
// name by absolute paths elsewhere are not among them: each machine has its own.
func (p *Plan) Inputs() []string {
	all := map[string]bool{}
	if p.uses != nil {
		maps.Copy(all, p.uses.files)
		for dir := range p.uses.trees {
			addBelow(all, dir, true)
		}
		if p.uses.event != "" {
			all[p.uses.event] = true
		}
	}
	for _, r := range p.readables() {
		addBelow(all, r.Path, false)
	}
	return slices.Sorted(maps.Keys(all))
}

// StandardInput returns the list of repositories that was read from standard input; nil for none.
func (p *Plan) StandardInput() []byte {
	if p.uses == nil {
		return nil
	}
	return p.uses.list
}

// Outside returns the files and directories that loading the plan has read or checked and that
// are not below a directory, sorted.
func (p *Plan) Outside(root string) []string {
	if p.uses == nil {
		return nil
	}
	var all []string
	for _, read := range []map[string]bool{p.uses.files, p.uses.trees} {
		for path := range read {
			if !pathtree.Within(path, root) {
				all = append(all, path)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// readables returns what commands of jobs read next to manifests. Those of setup and verify
// look in the workspace first, which is not known here.
func (p *Plan) readables() []Readable {
	var all []Readable
	add := func(command []string, readable []Readable) {
		for _, r := range readable {
			elsewhere := p.uses != nil && len(command) > 0 && p.uses.programs[command[0]] && (r.Path == command[0] || r.Path == filepath.Dir(command[0]))
			if !elsewhere {
				all = append(all, r)
			}
		}
	}
	for _, t := range p.Tools {
		add(t.Command, t.Readable)
	}
	for _, h := range p.Hooks {
		add(h.Command, h.Readable)
	}
	for _, process := range p.processes() {
		add(process.Command, process.Readable)
	}
	type looked struct{ dir, line string }
	seen := map[looked]bool{}
	for _, j := range slices.Concat(p.Jobs, p.Elsewhere) {
		lines := slices.Clone(j.Setup)
		for _, verify := range j.Verify {
			lines = append(lines, verify.Run)
		}
		for _, line := range lines {
			if at := (looked{j.Beside.Dir, line}); !seen[at] {
				seen[at] = true
				_, readable := j.Beside.resolve(line, nil, func(string) bool { return false })
				all = append(all, readable...)
			}
		}
	}
	return all
}

// processes returns the processes of the plan's servers, by the names that messages use.
func (p *Plan) processes() map[string]Process {
	all := map[string]Process{}
	for _, s := range p.LocalMCP() {
		all["MCP server "+s.Name] = s.Process
	}
	if p.LSP != nil {
		for _, s := range p.LSP.Servers {
			all["language server "+s.Name] = s.Process
		}
	}
	if p.Scripts.Used() {
		all["js"] = p.Scripts.Process
	}
	return all
}

// addBelow adds a file, or a directory and the files and empty directories below it, except
// git's own directories, symlinks to other places, and, without secrets, what looks like one.
func addBelow(all map[string]bool, root string, secrets bool) {
	top := realDir(root)
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error { // what can't be read is not found by jobs either
		at := root + strings.TrimPrefix(path, top)
		switch {
		case err != nil || path != top && (e.Name() == ".git" || !secrets && looksSecret(e, at)):
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir():
			if path == top || emptyDir(path) {
				all[at] = true
			}
		case isFile(path) && (e.Type()&fs.ModeSymlink == 0 || stays(path, top, secrets)):
			all[at] = true
		}
		return nil
	})
}

func emptyDir(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// stays reports whether a symlink leads to what addBelow adds, too.
func stays(path, top string, secrets bool) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !pathtree.Within(real, top) {
		return false
	}
	for at := real; at != top; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Name() == ".git" || !secrets && looksSecret(fs.FileInfoToDirEntry(info), at) {
			return false
		}
	}
	return true
}

// Variables returns the names of the environment variables that the manifests name, sorted.
func (p *Plan) Variables() []string {
	if p.uses == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.uses.variables))
}

// Event returns the file with the event of the CI, absolute; "" if the plan does not depend on one.
func (p *Plan) Event() string {
	if p.uses == nil {
		return ""
	}
	return p.uses.event
}

// Requires returns the environment variables without which the plan can't be loaded, or a
// job can't run: of each list one must be set. The keys of models and the tokens of git
// hosts are those that packages models and credentials know.
func (p *Plan) Requires(j Job) [][]string {
	names := map[string]bool{}
	if p.uses != nil {
		for name, got := range p.uses.variables {
			if got {
				names[name] = true
			}
		}
	}
	for _, name := range j.SetupEnv {
		names[name] = true
	}
	if p.Search.KeyEnv != "" {
		names[p.Search.KeyEnv] = true
	}
	all := [][]string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, []string{name})
	}
	return all
}
