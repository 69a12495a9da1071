package landing

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/text/textcut"
)

// The maximum lengths of a subject and of a prompt that a commit message names, in characters.
const (
	maxSubject = 60
	maxAsked   = 200
)

// subject returns the first line of a text, truncated to a number of characters.
func subject(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = textcut.OneLine(line)
	if r := []rune(line); len(r) > most {
		cut := string(r[:most])
		if at := strings.LastIndexByte(cut, ' '); at > most/2 {
			cut = cut[:at]
		}
		return cut + "..."
	}
	return strings.TrimSuffix(line, ".")
}

// maxSentences bounds the search for a sentence.
const maxSentences = 5

// sentence returns the first sentence of a final message that can describe a change, "" for none:
// not "Done.", and nothing that CI systems and forges obey in a commit message, such as [skip ci],
// #12 and @name, because a model wrote it.
func sentence(final string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(final), "\n\n")
	rest := textcut.OneLine(paragraph)
	for range maxSentences {
		one, after, more := strings.Cut(rest, ". ")
		one = strings.TrimSuffix(one, ".")
		for _, start := range []string{"I have ", "I've ", "I "} {
			one = strings.TrimPrefix(one, start)
		}
		if one != "" {
			one = strings.ToUpper(one[:1]) + one[1:]
		}
		if describes(one) {
			return one
		}
		if rest = after; !more {
			break
		}
	}
	return ""
}

// issue matches references to issues that have no special character.
var issue = regexp.MustCompile(`(?i)\bGH-\d`)

// The first words of sentences that describe a change are those in -ed, except neither, and made.
var (
	neither = []string{"Checked", "Completed", "Failed", "Finished", "Indeed", "Looked", "Need", "Needed", "Started", "Tried", "Verified"}
	made    = []string{"Built", "Cut", "Made", "Put", "Rebuilt", "Rewrote", "Set", "Split", "Wrote"}
)

// describes reports whether a sentence reports what was done, in at least three words and only with
// characters that have no meaning in commit messages.
func describes(one string) bool {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r > unicode.MaxASCII && unicode.IsLetter(r) || strings.ContainsRune(" .,:;'\"()/_-+=%`", r)
	}
	words := strings.Fields(one)
	return len(words) >= 3 && (strings.HasSuffix(words[0], "ed") && !slices.Contains(neither, words[0]) || slices.Contains(made, words[0])) &&
		strings.IndexFunc(one, func(r rune) bool { return !plain(r) }) < 0 && !strings.Contains(one, "://") && !issue.MatchString(one)
}
