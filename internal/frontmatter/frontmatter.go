package frontmatter

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The bounds of a head.
const (
	MaxHead  = 64 << 10 // bytes
	maxDepth = 16
)

// ErrNone is the error for a file without a head.
var ErrNone = errors.New("it does not begin with a head between two lines of ---")

const fence = "---"

// Parse reads a file's head, in which a colon in a plain value is forgiven, into the struct that head points to, by its yaml
// tags, and returns the text behind it. The error is [ErrNone] if there is no
// head, and else names the line of the file that is wrong.
func Parse(text string, head any) (body string, err error) {
	yamlText, body, err := split(text)
	if err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(yamlText), &doc); err != nil {
		doc = yaml.Node{}
		if yaml.Unmarshal([]byte(quoted(yamlText)), &doc) != nil {
			return "", inFile(err)
		}
	}
	if len(doc.Content) == 0 { // an empty head
		return body, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return "", fmt.Errorf("line %d: the head is not a list of keys with values", root.Line+1)
	}
	if err := plain(root, 1); err != nil {
		return "", err
	}
	if err := root.Decode(head); err != nil {
		return "", inFile(err)
	}
	return body, nil
}

// Head returns a file's head, whose lines are those of the file from its second
// on, and the text behind it. As with [Parse], a colon in a plain value is
// forgiven: it is put in quotes. The error is [ErrNone] if there is no head.
// Whether the head makes sense is left to the caller.
func Head(text string) (head, body string, err error) {
	head, body, err = split(text)
	if err != nil {
		return "", "", err
	}
	if forgiven := quoted(head); yaml.Unmarshal([]byte(head), new(yaml.Node)) != nil && yaml.Unmarshal([]byte(forgiven), new(yaml.Node)) == nil {
		head = forgiven
	}
	return head, body, nil
}

// split finds the head and what comes behind it.
func split(text string) (head, body string, err error) {
	text = strings.TrimPrefix(text, "\uFEFF")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != fence {
		return "", "", ErrNone
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t\r") == fence {
			if !utf8.ValidString(rest[:at]) {
				return "", "", errors.New("the head is not valid UTF-8")
			}
			if more {
				body = rest[at+len(line)+1:]
			}
			return rest[:at], body, nil
		}
		if at += len(line) + 1; at > MaxHead {
			return "", "", fmt.Errorf("the head is longer than %d KiB", MaxHead>>10)
		}
	}
	return "", "", errors.New("line 1: the head has no end: a line of --- is missing")
}

// quoted puts values in quotes that hold a colon, as people
// write them who take a head for lines of keys and values: "description: Use
// when: always". Only lines that are not indented and whose values begin as plain
// ones are touched.
func quoted(head string) string {
	var out strings.Builder
	for line := range strings.Lines(head) {
		bare := strings.TrimRight(line, " \t\r\n")
		key, value, ok := strings.Cut(bare, ": ")
		value = strings.TrimSpace(value)
		if ok && isKey(key) && value != "" && !strings.ContainsRune("\"'[]{}|>&*!%@`#,?-", rune(value[0])) && strings.Contains(value+" ", ": ") {
			line = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'" + line[len(bare):]
		}
		out.WriteString(line)
	}
	return out.String()
}

// isKey reports whether a text is a plain word.
func isKey(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// plain refuses what makes YAML mean more than its letters.
func plain(n *yaml.Node, depth int) error {
	line := n.Line + 1 // that of the first fence is not counted by the parser
	switch {
	case depth > maxDepth:
		return fmt.Errorf("line %d: the head is nested deeper than %d levels", line, maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not taken", line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: tags such as %s are not taken", line, n.Tag)
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode || c.Tag == "!!merge" {
				return fmt.Errorf("line %d: a key must be a plain word", c.Line+1)
			}
			if seen[c.Value] {
				return fmt.Errorf("line %d: the key %s stands twice", c.Line+1, c.Value)
			}
			seen[c.Value] = true
		}
		if err := plain(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inFile puts an error of the parser in terms of the file, in one line.
func inFile(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if te := (*yaml.TypeError)(nil); errors.As(err, &te) && len(te.Errors) > 0 {
		text = te.Errors[0]
	}
	const hint = "a value that holds a colon must stand in quotes"
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 { // none if it is the first
		_, what, _ := strings.Cut(text, ": ")
		return fmt.Errorf("line %d: %s (%s)", line+1, what, hint)
	}
	return fmt.Errorf("the head is no YAML: %s (%s)", text, hint)
}
