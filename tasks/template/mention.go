package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// MaxMentions bounds what one prompt names.
const MaxMentions = 100

// inlineCommand is what OpenCode's commands run before a prompt is sent.
var inlineCommand = regexp.MustCompile("!`[^`\n]+`")

// TaskPromptForm reads the prompt of a task, and AgentPromptForm one that is the same for every job, in which nothing is fetched.
var (
	TaskPromptForm  = form.Of[Template]{Type: form.Type{Name: "string"}, Read: readTaskPrompt}
	AgentPromptForm = form.Of[Template]{Type: form.Type{Name: "string"}, Read: readPlainPrompt}
)

// readTaskPrompt reads a task's prompt. A variable in a command is refused: the
// shell would run what its value holds.
func readTaskPrompt(v form.Value) (Template, bool) {
	t, ok := v.Filled()
	if !ok {
		return Template{}, false
	}
	if at := VariableInCommand(t.S); at >= 0 {
		p := t.PositionOf(at)
		v.Src.Report(p.Line, p.Column, "variable in a !`...` command of a prompt: the shell would run its value", "remove it, or write the command under setup: with quotes around the variable")
		return Template{}, false
	}
	return ParseTemplate(t), true
}

// VariableInCommand returns where a prompt has a command with a variable, -1 for nowhere.
func VariableInCommand(prompt string) int {
	for _, at := range inlineCommand.FindAllStringIndex(prompt, -1) {
		if strings.Contains(strings.ReplaceAll(prompt[at[0]:at[1]], "$"+form.Opening, ""), form.Opening) {
			return at[0]
		}
	}
	return -1
}

// readPlainPrompt reads a prompt that is the same for every job and workspace, in
// which nothing can be fetched.
func readPlainPrompt(v form.Value) (Template, bool) {
	t, ok := v.Filled()
	if ok && inlineCommand.MatchString(t.S) {
		v.Problem("!`...` commands are only supported in prompts of tasks", "write it there, or under setup: and let the agent read what it wrote")
		ok = false
	}
	if !ok {
		return Template{}, false
	}
	return ParseTemplate(t), true
}

// Span is a range of a text, in bytes.
type Span struct{ start, end int }

// Mentions finds what a text names, outside of the values that were filled in.
func Mentions(text string, values []Span) []tasks.Mention {
	var all []tasks.Mention
	filled := slices.DeleteFunc(values, func(v Span) bool { return v.start == v.end })
	s := scanner{text: text, values: filled}
	for i := 0; i < len(text); {
		m, ok := tasks.Mention{}, false
		switch {
		case text[i] == '!' && !s.filled(i, i+1):
			m, ok = s.command(i)
		case text[i] == '@' && !s.filled(i, i+1):
			m, ok = s.name(i)
		}
		if ok {
			all = append(all, m)
			i = m.End
			continue
		}
		i++
	}
	return all
}

// scanner looks at a text of which some pieces are values.
type scanner struct {
	text   string
	values []Span // in order
}

// filled reports whether any byte from start to end was filled in.
func (s scanner) filled(start, end int) bool {
	i, _ := slices.BinarySearchFunc(s.values, start, func(v Span, start int) int {
		if v.end <= start {
			return -1
		}
		return 1
	})
	return i < len(s.values) && s.values[i].start < end
}

// command reads one whose "!" is at an index.
func (s scanner) command(at int) (tasks.Mention, bool) {
	rest, ok := strings.CutPrefix(s.text[at:], "!`")
	n := strings.IndexAny(rest, "`\n")
	if !ok || n < 1 || rest[n] != '`' || strings.TrimSpace(rest[:n]) == "" {
		return tasks.Mention{}, false
	}
	end := at + len("!`") + n + 1
	return tasks.Mention{Start: at, End: end, Command: rest[:n]}, !s.filled(at, end)
}

// name reads one whose "@" is at an index. It goes on to white space or another
// sign that ends paths in texts; of what is filled in, all belongs to it.
func (s scanner) name(at int) (tasks.Mention, bool) {
	if before, _ := utf8.DecodeLastRuneInString(s.text[:at]); at > 0 && joins(before) {
		return tasks.Mention{}, false
	}
	start, end := at+1, at+1
	for end < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[end:])
		if !s.filled(end, end+size) && (unicode.IsSpace(r) || strings.ContainsRune("`,\"'<>|;", r)) {
			break
		}
		end += size
	}
	for end > start && !s.filled(end-1, end) && closes(s.text[start:end]) {
		end--
	}
	m := tasks.Mention{Start: at, End: end, Name: s.text[start:end]}
	if start == end || s.text[start] == '@' || strings.ContainsAny(m.Name, "\x00\n\r") {
		return tasks.Mention{}, false
	}
	takeRange(&m)
	for _, begin := range []string{"./", "../", "~/"} {
		m.Explicit = m.Explicit || strings.HasPrefix(m.Name, begin)
	}
	return m, true
}

// joins reports whether an "@" behind this character belongs to a word, as that
// of an address does, or is quoted.
func joins(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_`/\\@.-+", r)
}

// closes reports whether a name ends with a sign that belongs to the sentence
// around it.
func closes(name string) bool {
	last := name[len(name)-1]
	if i := strings.IndexByte(")]}", last); i >= 0 {
		return strings.Count(name, "([{"[i:i+1]) < strings.Count(name, ")]}"[i:i+1])
	}
	return strings.IndexByte(".:!?", last) >= 0
}

// rangeForm is #L10, #L10-20, #L10-L20, or OpenCode's #10-20 and #10-.
var rangeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)#(L?)([0-9]{1,9})(?:(-)(?:L?([0-9]{1,9}))?)?$`)
})

// takeRange cuts a range of lines from the name.
func takeRange(m *tasks.Mention) {
	match := rangeForm().FindStringSubmatch(m.Name)
	if match == nil {
		return
	}
	first, _ := strconv.Atoi(match[3]) // digits, and few
	last, _ := strconv.Atoi(match[5])
	switch {
	case match[4] == "":
		last = first
	case match[5] == "":
		last = 0
	}
	if explicit := match[2] != ""; explicit || first > 0 && (last == 0 || last >= first) {
		m.Ranged, m.Name, m.First, m.Last, m.Explicit = m.Name, match[1], first, last, explicit
	}
}
