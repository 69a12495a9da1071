package ablation

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
	"github.com/millhand/millhand/internal/text/linediff"
)

const inString = string(rune(testcases.InString))

// maxBlocks is the maximum number of blocks of a file: neighbors of a file with more are one block.
const maxBlocks = 64

// scripts are the extensions of languages in which a line is not indented only where a declaration or statement of the file starts or
// ends, and whose comments start with a character. Those of package testcases are divided, too.
const scripts = " sh bash zsh ksh pl pm lua tcl r jl ex exs swift scala h hh hpp hxx "

// blocks divides the lines of an added file of a programming language: a block starts after an empty line, with a line that is not
// indented and is not in brackets, a string or a comment. Comments belong to what follows them. A file whose tests are among
// its code is one block, because without the code these would not even be found.
func blocks(file string, lines []string) (all []linediff.Replacement) {
	code, known := testcases.Code(file, strings.Join(lines, ""))
	switch {
	case known && testcases.Mixed(file) && len(testcases.Cases(file, []byte(strings.Join(lines, "")))) > 0:
		return nil
	case !known && !strings.Contains(scripts, " "+strings.TrimPrefix(path.Ext(file), ".")+" "):
		return nil
	}
	masked := split([]byte(code))
	depth, from, begun := 0, 0, false // begun: the block has more than comments
	for i, line := range lines {
		isComment := comment(line) || known && strings.Trim(masked[i], " \t\r\n\"'`;"+inString) == "" // also one in a string, such as Python's
		if i > from && begun && depth == 0 && blank(lines[i-1]) && starts(line, masked[i], isComment) {
			all = append(all, linediff.Replacement{NewFrom: from, NewTo: i})
			from, begun = i, false
		}
		begun = begun || !blank(line) && !isComment
		if known {
			depth = max(0, depth+brackets(masked[i]))
		}
	}
	all = append(all, linediff.Replacement{NewFrom: from, NewTo: len(lines)})
	if n := len(all); n > 1 && !begun { // comments at the end
		all[n-2].NewTo = len(lines)
		all = all[:n-1]
	}
	for len(all) > maxBlocks {
		all = paired(all)
	}
	return all
}

// starts reports whether a block can start with a line.
func starts(line, masked string, isComment bool) bool {
	if blank(line) || strings.ContainsAny(line[:1], " \t})]") || strings.HasPrefix(masked, inString) {
		return false
	}
	if isComment {
		return comment(line) // and not text in a comment
	}
	return !slices.Contains([]string{"end", "else", "elif", "elsif", "except", "finally", "catch", "fi", "done", "esac", "then", "do", "EOF"}, word.FindString(masked))
}

// paired makes one block of each two neighbors.
func paired(all []linediff.Replacement) (some []linediff.Replacement) {
	for pair := range slices.Chunk(all, 2) {
		some = append(some, linediff.Replacement{NewFrom: pair[0].NewFrom, NewTo: pair[len(pair)-1].NewTo})
	}
	return some
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// comment reports whether a line starts a comment.
func comment(line string) bool {
	return slices.ContainsFunc([]string{"//", "# ", "#\n", "#!", "##", "--", "/*", "=begin"}, func(mark string) bool { return strings.HasPrefix(line, mark) })
}

// brackets returns how many more brackets a line opens than it closes.
func brackets(line string) (n int) {
	for _, c := range line {
		switch c {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}
