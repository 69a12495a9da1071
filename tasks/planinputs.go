package tasks

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/userfile"
)

// Inputs returns the files and directories of this machine that loading the plan has read
// or checked, or that its jobs read later: absolute and sorted. Programs that manifests
// name by absolute paths elsewhere are not among them: each machine has its own.
func (p *Plan) Inputs() []string {
	all := map[string]bool{}
	if p.Uses != nil {
		maps.Copy(all, p.Uses.Files)
		for dir := range p.Uses.Trees {
			addBelow(all, dir, true)
		}
		if p.Uses.Event != "" {
			all[p.Uses.Event] = true
		}
	}
	for _, r := range p.readables() {
		addBelow(all, r.Path, false)
	}
	return slices.Sorted(maps.Keys(all))
}

// StandardInput returns the list of repositories that was read from standard input; nil for none.
func (p *Plan) StandardInput() []byte {
	if p.Uses == nil {
		return nil
	}
	return p.Uses.List
}

// Outside returns the files and directories that loading the plan has read or checked and that
// are not below a directory, sorted.
func (p *Plan) Outside(root string) []string {
	if p.Uses == nil {
		return nil
	}
	var all []string
	for _, read := range []map[string]bool{p.Uses.Files, p.Uses.Trees} {
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
			elsewhere := p.Uses != nil && len(command) > 0 && p.Uses.Programs[command[0]] && (r.Path == command[0] || r.Path == filepath.Dir(command[0]))
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
	top := userfile.Real(root)
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
		case userfile.IsFile(path) && (e.Type()&fs.ModeSymlink == 0 || stays(path, top, secrets)):
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
	if p.Uses == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.Uses.Variables))
}

// Event returns the file with the event of the CI, absolute; "" if the plan does not depend on one.
func (p *Plan) Event() string {
	if p.Uses == nil {
		return ""
	}
	return p.Uses.Event
}

// Requires returns the environment variables without which the plan can't be loaded, or a
// job can't run: of each list one must be set. The keys of models and the tokens of git
// hosts are those that packages models and credentials know.
func (p *Plan) Requires(j Job) [][]string {
	names := map[string]bool{}
	if p.Uses != nil {
		for name, got := range p.Uses.Variables {
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
