package textcall

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxStarts limits how many positions of a message are tried, the last ones.
const maxStarts = 200

// Ends returns the name of the tool of the first of the calls that end a message, as the model wrote it; "" without a
// call of a known name. The last call may be truncated.
func Ends(text string, known func(name string) bool) string {
	text = trim(text)
	at := positions(text, starts())
	for _, i := range at[max(0, len(at)-maxStarts):] {
		if name := calls(text[i:], known); name != "" {
			return name
		}
	}
	return ""
}

// starts is where calls can start: the first of their tags, a list of calls in Python's syntax, or a name and its arguments,
// of which the server has removed the tags.
var starts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(special + `|<` + prefix + `(?:` + outer + `>|function=|` + named + `\s)|<\|tool_call>|` +
		`<start_function_call>|\[TOOL_(?:CALLS|REQUEST)\]|\bfunctools\[|(?:\b(?:commentary|analysis) )?\bto=functions\.|\bfunctions\.[\w.-]+:\d|^\s*\[|` +
		`^` + name + `(?:\[ARGS\])?\{\s*["}]`)
})

const (
	special = `<[|｜][^<>\s]{1,40}[|｜]>` // a token of a chat template
	prefix  = `(?:\w+:|[|｜]DSML[|｜])?`  // of Anthropic's, MiniMax' and DeepSeek's tags
	outer   = `(?:(?i:tool_?calls?)|tool_use|tool_code|tools|function_?calls?)`
	named   = `(?:invoke|tool_call|function_call)` // of elements with the name as an attribute
	space   = `\s*`                                // between tags
	name    = `([A-Za-z_][\w.-]*)`                 // of a tool
	fenced  = space + "(?:```(?:json)?\\s*)?"      // DeepSeek V3 and R1
)

// positions returns where calls can start, outside of code and quotes: in those is prose about the markup.
func positions(text string, starts *regexp.Regexp) (at []int) {
	fence, indented, blank, offset := "", false, true, 0
	for line := range strings.Lines(text) {
		content := strings.TrimLeft(line, " ")
		tab := len(line)-len(content) >= 4 || strings.HasPrefix(content, "\t")
		indented = tab && (blank || indented)
		blank = strings.TrimSpace(line) == ""
		switch run := leading(content); {
		case fence != "":
			if strings.HasPrefix(run, fence) && strings.TrimSpace(content[len(run):]) == "" {
				fence = ""
			}
		case len(run) >= 3 && !strings.Contains(content[len(run):], "`"):
			fence = run
		case indented, strings.HasPrefix(content, ">"):
		default:
			for _, span := range starts.FindAllStringIndex(line, -1) {
				if strings.Count(line[:span[0]], "`")%2 == 0 {
					at = append(at, offset+span[0])
				}
			}
		}
		offset += len(line)
	}
	return at
}

// trim removes space, and characters that are not visible, around a text.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// leading returns the backticks or tildes that a line starts with.
func leading(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
}

// tags are what surrounds and separates calls.
var tags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s|[,;\]]|` + special + `|</?` + prefix + outer + `>|</?function>|</` + prefix + `invoke>|` +
		`<\|tool_call>|<tool_call\|>|<(?:start|end)_function_call>|<start_function_response>|\[/?(?:END_)?TOOL_(?:CALLS|REQUEST)\]|functools|</s>|<end_of_turn>|<turn\|>|</think>)+`)
})

// form is how models write one call, after its outermost tags.
type form struct {
	head      *regexp.Regexp // up to the arguments; its group is the name
	arguments func(string) (rest string, ok bool)
}

var forms = sync.OnceValue(func() []form {
	return []form{
		{regexp.MustCompile(`^<function=["']?([^\s<>"'{]+)["']?>` + space), either(object, parameters, closed)},                                                                                                               // Qwen3-Coder, Llama 3, Nemotron
		{regexp.MustCompile(`^<function=` + name + space), object},                                                                                                                                                            // Llama 3 without a bracket
		{regexp.MustCompile(`^<` + prefix + named + `\s+name=["']([^<>"']+)["']\s*>` + space), either(object, parameters, closed)},                                                                                            // Claude, MiniMax, DeepSeek V3.2, Grok
		{regexp.MustCompile(`^(?:functions\.)?` + name + `(?::\d+)?\s*<\|tool_call_argument_begin\|>` + space), object},                                                                                                       // Kimi
		{regexp.MustCompile(`^functions\.` + name + `:\d+` + space), object},                                                                                                                                                  // Kimi without tags
		{regexp.MustCompile(`^function<[|｜]tool[▁_]sep[|｜]>` + name + `\b` + fenced), object},                                                                                                                                 // DeepSeek V3 and R1
		{regexp.MustCompile(`^` + name + `<[|｜]tool[▁_]sep[|｜]>` + fenced), object},                                                                                                                                           // DeepSeek V3.1
		{regexp.MustCompile(`^(?:assistant\s*)?(?:<\|channel\|>)?(?:commentary|analysis)?\s*to=` + name + `\s*(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?` + space + `(?:json|code)?\s*(?:<\|message\|>)?` + space), object}, // gpt-oss
		{regexp.MustCompile(`^` + name + `\s*(?:\[CALL_ID\]\s*[\w-]+\s*)?(?:\[ARGS\])?` + space), either(object, pairs, closed)},                                                                                              // Mistral, GLM
		{regexp.MustCompile(`^call:` + name + `\{`), braces},                                                                                                                                                                  // Gemma
		{regexp.MustCompile(`^\[?\s*` + name + `\(`), keywords},                                                                                                                                                               // Llama 3.2 and 4, and others
	}
})

// calls parses a text that consists of calls and their tags, and returns the name of the first call if all of it is one.
func calls(s string, known func(string) bool) (first string) {
	tagged := false
	for {
		around := tags().FindString(s)
		tagged, s = tagged || strings.ContainsAny(around, "<[f"), s[len(around):]
		if s == "" {
			return first
		}
		names, rest := next(s, tagged)
		called := pick(names, known)
		if called == "" {
			return ""
		}
		if first == "" {
			first = called
		}
		s = rest
	}
}

// next parses one call, and returns its name, of which there are several candidates in an object.
func next(s string, tagged bool) (names []string, rest string) {
	for _, f := range forms() {
		m := f.head.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		if rest, ok := f.arguments(s[m[1]:]); ok {
			return []string{s[m[2]:m[3]]}, rest
		}
	}
	if !tagged {
		return nil, s
	}
	value, rest, _ := value(s) // Hermes, Qwen, Llama, Mistral, Granite, Phi, Nemotron, Jamba
	return namesIn(value), rest
}

// pick returns the first known name.
func pick(names []string, known func(string) bool) string {
	for _, n := range names {
		for _, namespace := range []string{"functions.", "default_api.", "tools."} {
			n = strings.TrimPrefix(n, namespace)
		}
		if n = strings.TrimSuffix(n, ".call"); known(n) {
			return n
		}
	}
	return ""
}
