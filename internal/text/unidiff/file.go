package unidiff

import (
	"strconv"
	"strings"
)

// File is a changed file, as the head of its diff describes it.
type File struct {
	Old, Path        string // names before and after; equal unless it was renamed
	OldMode, Mode    string // as git writes them; empty if they did not change
	Created, Deleted bool
	Binary           bool
}

// Start starts the first line of the head of a file in a diff of git.
const Start = "diff --git "

// Header returns a file whose head starts with the line [Start] and these names.
func Header(names string) *File {
	f := &File{}
	f.Old, f.Path = bothNames(names)
	return f
}

// Field reads another line of the head.
func (f *File) Field(line string) {
	set := func(to *string, prefix string) bool {
		rest, ok := strings.CutPrefix(line, prefix)
		if ok {
			*to = rest
		}
		return ok
	}
	name := ""
	switch {
	case set(&f.OldMode, "old mode "), set(&f.Mode, "new mode "):
	case set(&f.Mode, "new file mode "):
		f.Created = true
	case set(&f.OldMode, "deleted file mode "):
		f.Deleted = true
	case set(&name, "rename from "), set(&name, "copy from "):
		f.Old = unquoted(name)
	case set(&name, "rename to "), set(&name, "copy to "):
		f.Path = unquoted(name)
	case set(&name, "--- "):
		if n, ok := strings.CutPrefix(unquoted(strings.TrimSuffix(name, "\t")), "a/"); ok {
			f.Old = n
		}
	case set(&name, "+++ "):
		if n, ok := strings.CutPrefix(unquoted(strings.TrimSuffix(name, "\t")), "b/"); ok {
			f.Path = n
		}
	case line == "GIT binary patch", strings.HasPrefix(line, "Binary files "):
		f.Binary = true
	}
}

// bothNames returns the names of a file in the first line of its header.
func bothNames(names string) (before, after string) {
	if half := len(names) / 2; len(names)%2 == 1 && names[half] == ' ' {
		a, b := unquoted(names[:half]), unquoted(names[half+1:])
		if strings.HasPrefix(a, "a/") && strings.HasPrefix(b, "b/") {
			return a[2:], b[2:]
		}
	}
	return names, names
}

// unquoted returns a name that git has quoted.
func unquoted(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// Section is the diff of one file.
type Section struct {
	*File
	Hunks string // from the first "@@"; "" without any
}

// Split separates a diff of git into those of its files.
func Split(diff string) []Section {
	var all []Section
	left, right := 0, 0 // lines of the hunk that are still to come
	at, hunks := 0, -1  // offsets of the line and of the first hunk of the file; -1 before it
	end := func() {
		if len(all) > 0 && hunks >= 0 {
			all[len(all)-1].Hunks = diff[hunks:at]
		}
		hunks = -1
	}
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		names, starts := strings.CutPrefix(text, Start)
		ranges, begins := strings.CutPrefix(text, hunkStart)
		switch {
		case left > 0 || right > 0:
			left, right = rest(text, left, right)
		case starts:
			end()
			all = append(all, Section{File: Header(names)})
		case len(all) == 0:
		case begins:
			before, after := Ranges(ranges)
			left, right = before.Length, after.Length
			if hunks < 0 {
				hunks = at
			}
		case hunks < 0:
			all[len(all)-1].Field(text)
		}
		at += len(line)
	}
	end()
	return all
}

// rest returns how many lines of the versions a hunk still has after one of its lines.
func rest(text string, left, right int) (int, int) {
	switch {
	case strings.HasPrefix(text, "-"):
		return left - 1, right
	case strings.HasPrefix(text, "+"):
		return left, right - 1
	case strings.HasPrefix(text, `\`): // no line break at the end of the file
		return left, right
	}
	return left - 1, right - 1
}
