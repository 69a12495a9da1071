package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// edits are the edit rules of a job, which hold for everything that it changes in a work
// tree, regardless of whether a tool, a command or a setup command changes it.
type edits struct {
	profile permission.Profile
	root    string // of the work tree
	below   string // the workspace in it, slash separated; "" for the root
}

// editsOf returns the edit rules of a job. Its protected paths are those of the
// workspace and of the repository.
func editsOf(j tasks.Job, root, below string) edits {
	return edits{profile: inTree(j, j.Profile, root, below), root: root, below: below}
}

// inTree returns a profile of a job that also protects the paths of the repository, if
// the workspace is a directory in its work tree.
func inTree(j tasks.Job, p permission.Profile, root, below string) permission.Profile {
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
func (e edits) String() string {
	var b strings.Builder
	for p := &e.profile; p != nil; p = p.Max {
		fmt.Fprintln(&b, p.Rules)
	}
	return b.String()
}

// globMeta escapes a path for use in a pattern.
var globMeta = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// names returns the names of a path of the work tree that rules match.
func (e edits) names(file string) []string {
	rel := file
	if e.below != "" {
		rel = strings.TrimPrefix(file, e.below+"/")
	}
	return []string{rel, e.root + "/" + file}
}

// barred returns the denials of changes of paths of the work tree.
func (e edits) barred(files []string) []permission.Decision {
	if !e.profile.BarsAny() {
		return nil
	}
	var all []permission.Decision
	for _, file := range files {
		d, barred := e.profile.Bars(e.names(file)...)
		if dir := e.repository(file); dir != "" && !barred {
			if d, barred = e.profile.Bars(e.names(dir + "/.git/HEAD")...); barred {
				d.Request, d.Why = permission.Need("edit", e.names(file)...), "git uses "+dir+" as a repository (for rules it is "+dir+"/.git/HEAD)"
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
func (e edits) repository(file string) string {
	for i, c := range file {
		if c != '/' || i < len(e.below) {
			continue
		}
		name, _, _ := strings.Cut(file[i+1:], "/")
		if gitops.InRepository(name) && gitops.IsRepository(filepath.Join(e.root, filepath.FromSlash(file[:i]))) {
			return file[:i]
		}
	}
	return ""
}

// mostLocked is the maximum number of paths that are made read-only for commands. Changes
// of other paths are found when the agent reports completion.
const mostLocked = 200

// locked returns the absolute paths of those files, and of entire directories, that
// commands may not change.
func (e edits) locked(files []string) []string {
	if !e.profile.BarsAny() {
		return nil
	}
	locks := e.profile.Locker()
	dirs, locked := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		at, isDir := file, false
		for i := range len(file) {
			if file[i] != '/' || len(file[:i]) <= len(e.below) {
				continue
			}
			dir := file[:i]
			lock, known := dirs[dir]
			if !known {
				lock = locks(true, e.names(dir)...)
				dirs[dir] = lock
			}
			if lock {
				at, isDir = dir, true
				break
			}
		}
		if isDir || locks(false, e.names(file)...) {
			locked[filepath.Join(e.root, filepath.FromSlash(at))] = true
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

// denials lists paths with the rules that deny changing them.
func denials(barred []permission.Decision) string {
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

// uncommittable returns the text about paths that git would not commit, in the prompt of
// the next attempt.
func uncommittable(refused []gitops.Refusal) string {
	var b strings.Builder
	b.WriteString("These paths can't be committed. Remove, rename or change them. Then finish again.\n")
	if slices.ContainsFunc(refused, func(r gitops.Refusal) bool { return r.Reason == gitops.NestedRepository }) {
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

// undo returns the text about denied changes in the prompt of the next attempt.
func undo(barred []permission.Decision) string {
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
