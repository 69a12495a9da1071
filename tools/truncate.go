package tools

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/tools/cut"
)

// The default limits of one call's output.
const (
	defaultLines = 2000
	defaultBytes = 50 << 10
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
	saved := cut.Bytes(cut.Lines(text, env.lineLimit(), tail), env.sizeLimit(), tail)
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
