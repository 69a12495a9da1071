package gitops

import (
	"slices"
	"strings"
)

// CleanMessage returns a commit message as git commit stores it: without spaces at the ends of
// lines, without empty lines at its start and end, and with one empty line between paragraphs. It
// ends with a newline unless it is empty. See git-stripspace(1).
func CleanMessage(text string) string {
	var b strings.Builder
	empty := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n\v\f\r")
		if line == "" {
			empty = b.Len() > 0
			continue
		}
		if empty {
			b.WriteByte('\n')
		}
		empty = false
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// WithTrailers returns a clean message with trailers, each "Token: value". They join the trailers
// that the message ends with, or else are its last paragraph, as with git commit --trailer.
func WithTrailers(text string, trailers ...string) string {
	text = CleanMessage(text)
	if text != "" && !endsWithTrailers(text) {
		text += "\n"
	}
	return text + strings.Join(trailers, "\n") + "\n"
}

// generated are the starts of trailers that git itself writes: a paragraph with one may have other
// lines, too.
var generated = []string{"Signed-off-by: ", "(cherry picked from commit "}

// endsWithTrailers reports whether the last paragraph of a clean message consists of trailers, by
// the rules of git-interpret-trailers(1). The first paragraph is the subject, whatever it looks
// like.
func endsWithTrailers(text string) bool {
	at := strings.LastIndex(text, "\n\n")
	if at < 0 {
		return false
	}
	trailers, others, continued, written := 0, 0, 0, false
	lines := strings.Split(strings.TrimSuffix(text[at+2:], "\n"), "\n")
	for _, line := range slices.Backward(lines) {
		switch {
		case strings.HasPrefix(line, "#"): // a comment for git
			others, continued = others+continued, 0
		case hasPrefix(line, generated):
			trailers, continued, written = trailers+1, 0, true
		case isTrailer(line):
			trailers, continued = trailers+1, 0
		case line[0] == ' ' || line[0] == '\t':
			continued++
		default:
			others, continued = others+1+continued, 0
		}
	}
	others += continued
	return written && trailers*3 >= others || trailers > 0 && others == 0
}

func hasPrefix(line string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

// isTrailer reports whether a line is "Token: value"; the token has letters, digits and hyphens.
func isTrailer(line string) bool {
	token, _, ok := strings.Cut(line, ":")
	token = strings.TrimRight(token, " \t")
	return ok && token != "" && strings.Trim(token, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
