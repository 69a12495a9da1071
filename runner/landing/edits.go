package landing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// Edits are the edit rules of a job, which hold for everything that it changes in a work
// tree, regardless of whether a tool, a command or a setup command changes it.
type Edits struct {
	Profile permission.Profile
	Root    string // of the work tree
	Below   string // the workspace in it, slash separated; "" for the root
}

// EditsOf returns the edit rules of a job. Its protected paths are those of the
// workspace and of the repository.
func EditsOf(j tasks.Job, root, below string) Edits {
	return Edits{Profile: InTree(j, j.Profile, root, below), Root: root, Below: below}
}

// InTree returns a profile of a job that also protects the paths of the repository, if
// the workspace is a directory in its work tree.
func InTree(j tasks.Job, p permission.Profile, root, below string) permission.Profile {
	if below == "" || len(j.Protect) == 0 {
		return p
	}
	rules := slices.Clone(j.Protect)
	for i, r := range rules {
		rules[i].Pattern = globMeta.Replace(root) + "/" + r.Pattern
	}
	return p.Narrowed("commit.protect", rules)
}

// String returns the rules of the profile and of all that limit it.
func (e Edits) String() string {
	var b strings.Builder
	for p := &e.Profile; p != nil; p = p.Max {
		fmt.Fprintln(&b, p.Rules)
	}
	return b.String()
}

// globMeta escapes a path for use in a pattern.
var globMeta = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// Names returns the names of a path of the work tree that rules match.
func (e Edits) Names(file string) []string {
	rel := file
	if e.Below != "" {
		rel = strings.TrimPrefix(file, e.Below+"/")
	}
	return []string{rel, e.Root + "/" + file}
}

// Barred returns the denials of changes of paths of the work tree.
func (e Edits) Barred(files []string) []permission.Decision {
	if !e.Profile.BarsAny() {
		return nil
	}
	var all []permission.Decision
	for _, file := range files {
		d, barred := e.Profile.Bars(e.Names(file)...)
		if dir := e.repository(file); dir != "" && !barred {
			if d, barred = e.Profile.Bars(e.Names(dir + "/.git/HEAD")...); barred {
				d.Request, d.Why = permission.Need("edit", e.Names(file)...), "git uses "+dir+" as a repository (for rules it is "+dir+"/.git/HEAD)"
			}
		}
		if barred {
			all = append(all, d)
		}
	}
	return all
}

// repository returns the directory around a path that git uses as a repository without the name .git, as it does a
// bare one: whoever runs git there runs programs of its configuration. "" if git finds no such directory.
func (e Edits) repository(file string) string {
	for i, c := range file {
		if c != '/' || i < len(e.Below) {
			continue
		}
		name, _, _ := strings.Cut(file[i+1:], "/")
		if gitops.InRepository(name) && gitops.IsRepository(filepath.Join(e.Root, filepath.FromSlash(file[:i]))) {
			return file[:i]
		}
	}
	return ""
}

// mostLocked is the maximum number of paths that are made read-only for commands. Changes
// of other paths are found when the agent reports completion.
const mostLocked = 200

// Locked returns the absolute paths of those files, and of entire directories, that
// commands may not change.
func (e Edits) Locked(files []string) []string {
	if !e.Profile.BarsAny() {
		return nil
	}
	locks := e.Profile.Locker()
	dirs, locked := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		at, isDir := file, false
		for i := range len(file) {
			if file[i] != '/' || len(file[:i]) <= len(e.Below) {
				continue
			}
			dir := file[:i]
			lock, known := dirs[dir]
			if !known {
				lock = locks(true, e.Names(dir)...)
				dirs[dir] = lock
			}
			if lock {
				at, isDir = dir, true
				break
			}
		}
		if isDir || locks(false, e.Names(file)...) {
			locked[filepath.Join(e.Root, filepath.FromSlash(at))] = true
		}
	}
	list := make([]string, 0, len(locked))
	for p := range locked {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b string) int { // the shortest first: closest to the root
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return list[:min(len(list), mostLocked)]
}

// Denials lists paths with the rules that deny changing them.
func Denials(barred []permission.Decision) string {
	list := make([]string, len(barred))
	for i, d := range barred {
		list[i] = fmt.Sprintf("%s, by rule %s", d.Request.Subject(), d.By())
	}
	if len(list) > 3 {
		list = append(list[:3], fmt.Sprintf("and %d more", len(barred)-3))
	}
	return strings.Join(list, "; ")
}

// mostReturned is the maximum number of denied paths in the prompt of an attempt.
const mostReturned = 50

// Uncommittable returns the text about paths that git would not commit, in the prompt of
// the next attempt.
func Uncommittable(refused []state.Refusal) string {
	var b strings.Builder
	b.WriteString("These paths can't be committed. Remove, rename or change them. Then finish again.\n")
	if slices.ContainsFunc(refused, func(r state.Refusal) bool { return r.Reason == state.NestedRepository }) {
		b.WriteString("To keep the files of a nested repository, remove its directory .git (rm -rf DIR/.git).\n")
	}
	for i, f := range refused {
		if i == mostReturned {
			fmt.Fprintf(&b, "\n(and %d more)\n", len(refused)-i)
			break
		}
		fmt.Fprintf(&b, "\n<refused path=%q reason=%q />\n", f.Path, f.Reason)
	}
	return b.String()
}

// Undo returns the text about denied changes in the prompt of the next attempt.
func Undo(barred []permission.Decision) string {
	var b strings.Builder
	b.WriteString("These files were changed, and the profile does not allow to change them. Undo these changes: remove new files, restore the content of others. Then finish again.\n")
	for i, d := range barred {
		if i == mostReturned {
			fmt.Fprintf(&b, "\n(and %d more)\n", len(barred)-i)
			break
		}
		fmt.Fprintf(&b, "\n<denied path=%q rule=%q />\n", d.Request.Subject(), d.By())
	}
	return b.String()
}

// Protected returns the stop of a job that changed paths which its profile denies.
func Protected(barred []permission.Decision) *ending.Stop {
	if len(barred) == 0 {
		return nil
	}
	return &ending.Stop{Code: event.CodeProtected, Detail: "the job changed paths that its profile may not edit: " + Denials(barred)}
}
