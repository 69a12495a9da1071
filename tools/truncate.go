package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/textcut"
)

// The default limits of one call's output.
const (
	defaultLines = 2000
	defaultBytes = 50 << 10
)

// The maximum sizes of an error message and of a call's title, in bytes of
// JSON.
const (
	maxMessage = 4 << 10
	maxTitle   = 200
)

// bounded is a truncated output; path is the file with the full output.
type bounded struct {
	text string
	cut  bool
	path string
}

// bound truncates an output to the session's limits, at line ends if possible, and
// saves its full form if something is omitted.
// Sizes are those of the text as JSON, in which a model gets it: control
// characters take six bytes there.
func bound(env *Env, text, full string, tail bool) bounded {
	saved := cutBytes(cutLines(text, env.lineLimit(), tail), env.sizeLimit(), tail)
	if len(saved) == len(text) {
		return bounded{text: text}
	}
	b := bounded{cut: true}
	where := "narrow the request"
	if path, err := saveOutput(env, full); err == nil && path != "" {
		b.path = path
		where = savedNote(fullOutput, path, saved)
	}
	dropped := len(text) - len(saved)
	if tail {
		b.text = fmt.Sprintf("(output truncated: the first %d bytes are omitted; %s)\n\n%s", dropped, where, saved)
	} else {
		b.text = fmt.Sprintf("%s\n\n(output truncated: the last %d bytes are omitted; %s)", saved, dropped, where)
	}
	return b
}

// fullOutput describes a complete file in [savedNote].
const fullOutput = "full output"

// savedNote says where an output is saved and how to read more of it. A line
// longer than read's maximum can't be read by lines.
func savedNote(what, path, shown string) string {
	how := "use read with offset and limit, or grep"
	if len(shown) > readLineSize && !strings.Contains(strings.TrimSuffix(shown, "\n"), "\n") {
		how = "it is one very long line, use cut: cut -c 1-2000 " + path
	}
	return fmt.Sprintf("%s saved to %s: %s", what, path, how)
}

// errorText makes an error message fit for the model: it may quote long
// arguments and file names that are not valid UTF-8. A long message is
// shortened in the middle, because the operation comes first and the reason
// last.
func errorText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if jsonSize(s) <= maxMessage {
		return s
	}
	return cutBytes(s, maxMessage/2, false) + " (...) " + cutBytes(s, maxMessage/2, true)
}

// brief shortens a text to a title of one line.
func brief(s string) string {
	s = textcut.OneLine(strings.ToValidUTF8(s, "\uFFFD"))
	if saved := cutBytes(s, maxTitle, false); len(saved) < len(s) {
		return saved + "..."
	}
	return s
}

// lineLimit is the maximum number of lines of one output.
func (env *Env) lineLimit() int {
	if env.Limits.Lines > 0 {
		return env.Limits.Lines
	}
	return defaultLines
}

// sizeLimit is the maximum size of one output in bytes of JSON.
func (env *Env) sizeLimit() int {
	if env.Limits.Bytes > 0 {
		return env.Limits.Bytes
	}
	return defaultBytes
}

// saveOutput writes a full output to the session's output directory.
func saveOutput(env *Env, text string) (string, error) {
	if env.Outputs == nil {
		return "", nil
	}
	f, name, err := env.Outputs.CreateTemp("output-*.txt")
	if err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	_, err = f.WriteString(env.Redact.Text(text))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	return filepath.Join(env.Outputs.Path(), name), nil
}

// cutLines returns the first, or last, n lines.
func cutLines(text string, n int, tail bool) string {
	if strings.Count(text, "\n") < n {
		return text
	}
	if tail {
		at := len(strings.TrimSuffix(text, "\n"))
		for range n {
			at = strings.LastIndexByte(text[:at], '\n')
			if at < 0 {
				return text
			}
		}
		return text[at+1:]
	}
	at := 0
	for range n {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return text
		}
		at += next + 1
	}
	return text[:at]
}

// cutBytes returns as much of the head, or tail, as fits in size bytes of JSON.
// It never splits a character, and cuts at a line end if one is near.
func cutBytes(text string, size int, tail bool) string {
	if len(text)*6 <= size || jsonSize(text) <= size {
		return text
	}
	if tail {
		at, sum := len(text), 0
		for at > 0 {
			r, w := utf8.DecodeLastRuneInString(text[:at])
			if sum += runeSize(r, w); sum > size {
				break
			}
			at -= w
		}
		if nl := strings.IndexByte(text[at:], '\n'); nl >= 0 && nl < (len(text)-at)/4 {
			at += nl + 1
		}
		return text[at:]
	}
	at, sum := 0, 0
	for at < len(text) {
		r, w := utf8.DecodeRuneInString(text[at:])
		if sum += runeSize(r, w); sum > size {
			break
		}
		at += w
	}
	if nl := strings.LastIndexByte(text[:at], '\n'); nl > at*3/4 {
		at = nl + 1
	}
	return text[:at]
}

// jsonSize returns the size of a text as a JSON string, without its quotes.
func jsonSize(text string) int {
	n := 0
	for i := 0; i < len(text); {
		r, w := utf8.DecodeRuneInString(text[i:])
		n += runeSize(r, w)
		i += w
	}
	return n
}

// runeSize returns the size of one character in JSON; an invalid byte counts as
// the replacement character.
func runeSize(r rune, width int) int {
	switch {
	case r == utf8.RuneError && width == 1:
		return 3
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == 0x7f || r == '\u2028' || r == '\u2029':
		return 6
	}
	return width
}
