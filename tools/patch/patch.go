package patch

import "path"

// Op is the operation of a section of a patch.
type Op string

// The operations.
const (
	Add    Op = "add"    // write a file, replacing an existing one
	Update Op = "update" // change a file by hunks, move it, or both
	Delete Op = "delete" // remove a file
)

// Patch is a parsed patch, its sections in order.
type Patch struct {
	Files []File
}

// File is a section of a patch: the operation on one file.
type File struct {
	Op      Op
	Path    string // as written, without white space around it; never empty
	MoveTo  string // with Update, the path to move the file to, or ""
	Content string // with Add, the new content
	Hunks   []Hunk // with Update; none if the file is only moved
	Line    int    // first line of the section in the patch, from 1
}

// Hunk is one change within a file.
type Hunk struct {
	// Contexts are the texts after "@@", each a complete line of the file
	// somewhere before the hunk, the outermost first.
	Contexts []string
	// Lines are the lines as in the patch: the first byte is ' ' for
	// context, '-' for removed and '+' for added lines. An empty string is a
	// blank context line without its space.
	Lines []string
	AtEnd bool  // the hunk ends at the end of the file
	Final Final // its effect on the newline at the end of the file
	Line  int   // first line of the hunk in the patch, from 1
}

// Final is the effect of a hunk on the newline at the end of the file, by lines
// with "\\ No newline at end of file".
type Final int

// The values of Final.
const (
	FinalKept    Final = iota // unchanged
	FinalAdded                // only the old last line has none
	FinalRemoved              // only the new last line has none
)

// Paths returns every path of the patch as written, including move targets, without
// duplicates.
func (p Patch) Paths() []string {
	var paths []string
	seen := map[string]bool{}
	for _, f := range p.Files {
		for _, name := range []string{f.Path, f.MoveTo} {
			if name != "" && !seen[name] {
				seen[name] = true
				paths = append(paths, name)
			}
		}
	}
	return paths
}

// key returns the same string for all spellings of a path.
func key(name string) string { return path.Clean(name) }

// sign returns the kind of a line of a hunk: ' ', '-' or '+'.
func sign(line string) byte {
	if line == "" {
		return ' '
	}
	return line[0]
}

// text returns a line of a hunk without its sign.
func text(line string) string {
	if line == "" {
		return ""
	}
	return line[1:]
}

// old returns the consecutive lines that a hunk expects in the file.
func old(lines []string) []string {
	var out []string
	for _, l := range lines {
		if sign(l) != '+' {
			out = append(out, text(l))
		}
	}
	return out
}
