package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/word"
)

// maxPlaces bounds the directories that are told apart.
const maxPlaces = 8

// places is the set of directories in which a shell can be at some point of
// its script. The zero value: the point is unreachable.
type places struct {
	dirs     []string // as Access.Dir has them, sorted
	anywhere bool     // it can't be known
}

func start() places { return places{dirs: []string{""}} }

func (p places) equal(q places) bool {
	return p.anywhere == q.anywhere && slices.Equal(p.dirs, q.dirs)
}

// or returns the union of both.
func (p places) or(q places) places {
	if p.anywhere || q.anywhere {
		return places{anywhere: true}
	}
	dirs := slices.Concat(p.dirs, q.dirs)
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	if len(dirs) > maxPlaces {
		return places{anywhere: true}
	}
	return places{dirs: dirs}
}

// enter returns where a change to the directory target leads. The shell
// follows ".." in the name, not in the file system, but falls back to the
// latter if that fails, so both count when they may differ.
func (p places) enter(target string) places {
	if word.IsRooted(target) {
		p = start()
	}
	if p.anywhere {
		return p
	}
	var out places
	for _, d := range p.dirs {
		raw := under(d, target)
		out = out.or(places{dirs: []string{clean(raw)}})
		if strings.Contains(target, "/..") {
			out = out.or(places{dirs: []string{raw}})
		}
	}
	return out
}

// under returns the path that p has when used in the directory dir.
func under(dir, p string) string {
	if dir == "" || word.IsRooted(p) {
		return p
	}
	return strings.TrimSuffix(dir, "/") + "/" + p
}

// clean shortens a directory's name; "" is the start. A name that leaves a
// home directory upwards is left alone, as it isn't known where that is.
func clean(dir string) string {
	if dir == "" {
		return ""
	}
	c := path.Clean(dir)
	if strings.HasPrefix(dir, "~") && (!strings.HasPrefix(c, "~") || strings.Contains(dir, "..")) {
		return dir
	}
	if c == "." {
		return ""
	}
	return c
}
