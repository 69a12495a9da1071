package patch

import "path"

// Op is the operation of a section of a patch.
type Op string

// The operations.
const (
	Add    Op = "add"    // write a whole file, whether or not there is one
	Update Op = "update" // change a file by hunks, move it, or both
	Delete Op = "delete" // remove a file
)

// Patch is a patch as it was read, its sections in order.
type Patch struct {
	Files []File
}

// File is a section of a patch: what becomes of one file.
type File struct {
	Op      Op
	Path    string // as written, without white space around it; never empty
	MoveTo  string // with Update, the path to move the file to, or ""
	Content string // with Add, what the file will hold
	Hunks   []Hunk // with Update; none if the file is only moved
	Line    int    // where the section begins in the patch, from 1
}

// Hunk is a change of one place of a file.
type Hunk struct {
	// Contexts are the texts behind "@@", each a whole line of the file that
	// stands somewhere above the hunk, the outermost first.
	Contexts []string
	// Lines are the lines as the patch has them: their first byte says whether
	// the line stays (a space), goes ('-') or comes ('+'). An empty string is a
	// blank line that stays, its space left out.
	Lines []string
	AtEnd bool // the hunk ends with the end of the file
	Line  int  // where the hunk begins in the patch, from 1
}

// Paths returns every path that the patch names, move targets too, once each
// and as they are written.
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

// key is what two spellings of one path have in common.
func key(name string) string { return path.Clean(name) }

// sign returns what becomes of a line of a hunk: ' ', '-' or '+'.
func sign(line string) byte {
	if line == "" {
		return ' '
	}
	return line[0]
}

// text returns the line that a line of a hunk speaks of.
func text(line string) string {
	if line == "" {
		return ""
	}
	return line[1:]
}

// old returns the lines that a hunk expects in the file, one below the other.
func old(lines []string) []string {
	var out []string
	for _, l := range lines {
		if sign(l) != '+' {
			out = append(out, text(l))
		}
	}
	return out
}
