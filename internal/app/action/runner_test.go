package action_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The runner's side of what the package writes, as the tests' oracle.

// commandsIn returns the commands that a runner finds in a log: "::NAME ...::" at
// the start of a line and "##[NAME ...]" anywhere. It passes over characters
// that do not show, as a comparison of texts by the rules of a language does.
func commandsIn(log string) []string {
	shown := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\r' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.M, r)) {
			return -1
		}
		return r
	}, log)
	var commands []string
	for line := range strings.FieldsFuncSeq(shown, func(r rune) bool { return r == '\n' || r == '\r' }) {
		trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
		if strings.HasPrefix(trimmed, "::") || strings.Contains(line, "##[") {
			commands = append(commands, trimmed)
		}
	}
	return commands
}

// unescape is what the runner makes of the text of a command.
func unescape(s string) string {
	return strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(s)
}

// readOutputs reads the file of a step's outputs.
func readOutputs(text string) (names []string, values map[string]string, err error) {
	lines := strings.SplitAfter(text, "\n")
	values = map[string]string{}
	next := func() (string, bool) {
		if len(lines) == 0 || lines[0] == "" {
			return "", false
		}
		line := lines[0]
		lines = lines[1:]
		return strings.TrimSuffix(line, "\n"), true
	}
	for {
		line, ok := next()
		if !ok {
			return names, values, nil
		}
		if line == "" {
			continue
		}
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		var name, value string
		switch {
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			name, value = line[:equals], line[equals+1:]
		case heredoc > 0 && line[heredoc+2:] != "":
			name = line[:heredoc]
			var body []string
			for {
				l, ok := next()
				if !ok {
					return nil, nil, fmt.Errorf("%s has no end", name)
				}
				if l == line[heredoc+2:] {
					break
				}
				body = append(body, l)
			}
			value = strings.Join(body, "\n")
		default:
			return nil, nil, fmt.Errorf("%q begins nothing", line)
		}
		if slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("%s is there twice", name)
		}
		names = append(names, name)
		values[name] = value
	}
}

func TestOracleFindsCommands(t *testing.T) {
	for _, log := range []string{"::error::x", " \t::set-output name=a::b", "ok\r::add-mask::x", "text ##[error]x", "\u200d::warning::x", "\u2003::debug::x", "#\u200d#[debug]x"} {
		if len(commandsIn("before\n"+log+"\nafter")) != 1 {
			t.Errorf("%q is not found", log)
		}
	}
	if got := commandsIn("a ::error::x\n# #[x]\n: :error::"); got != nil {
		t.Errorf("found %q", got)
	}
}
