package words

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// Hit is one use of a phrase.
type Hit struct {
	Line   int
	Phrase string
}

// word is a word in lower case, or a break, "", that no phrase extends over.
type word struct {
	text string
	line int
}

// Find returns the uses of phrases, each in lower case with single spaces, in a
// file. Go files are known by their name.
func Find(name, text string, phrases []string) []Hit {
	all := split(text, 1)
	if strings.HasSuffix(name, ".go") {
		all = splitGo(text)
	}
	first := map[string][][]string{}
	for _, p := range phrases {
		fields := strings.Fields(p)
		first[fields[0]] = append(first[fields[0]], fields)
	}
	var hits []Hit
	for i, w := range all {
		for _, fields := range first[w.text] {
			if i+len(fields) <= len(all) && slices.EqualFunc(all[i:i+len(fields)], fields, func(w word, s string) bool { return w.text == s }) {
				hits = append(hits, Hit{w.line, strings.Join(fields, " ")})
			}
		}
	}
	return hits
}

// splitGo returns the words of comments, strings and identifiers. Comments on
// consecutive lines are one text.
func splitGo(text string) []word {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	var all []word
	last := -1 // line of the last comment's end, if nothing followed it
	for {
		pos, kind, literal := s.Scan()
		line := file.Line(pos)
		switch kind {
		case token.EOF:
			return all
		case token.COMMENT:
			if line != last+1 {
				all = append(all, word{})
			}
			all = append(all, split(literal, line)...)
			last = line + strings.Count(literal, "\n")
		case token.STRING, token.IDENT:
			all = append(all, word{})
			all = append(all, split(literal, line)...)
			last = -1
		case token.SEMICOLON: // also inserted before a comment's line break
		default:
			last = -1
		}
	}
}

// split returns the words of a text that begins on a line, and a break after each
// sentence.
func split(text string, line int) []word {
	var all []word
	r, start := []rune(text), 0
	for i := 0; i <= len(r); i++ {
		if i < len(r) && unicode.IsLetter(r[i]) && !startsWord(r, start, i) {
			continue
		}
		if i > start && unicode.IsLetter(r[start]) {
			all = append(all, word{strings.ToLower(string(r[start:i])), line})
		}
		start = i
		if i == len(r) || unicode.IsLetter(r[i]) {
			continue
		}
		start++
		switch {
		case r[i] == '\n':
			line++
		case strings.ContainsRune(".;:!?", r[i]) && i+1 < len(r) && unicode.IsSpace(r[i+1]):
			all = append(all, word{})
		}
	}
	return all
}

// startsWord reports whether a new word starts at a letter, in mixedCase or
// HTTPServer for example.
func startsWord(r []rune, start, i int) bool {
	if i == start || !unicode.IsUpper(r[i]) {
		return false
	}
	return unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])
}
