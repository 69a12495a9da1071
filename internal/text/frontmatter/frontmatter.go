package frontmatter

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of frontmatter.
const (
	MaxHead  = 64 << 10 // bytes
	maxDepth = 16
)

// ErrNone is the error for a file without frontmatter.
var ErrNone = errors.New("file does not start with frontmatter between two lines of ---")

const fence = "---"

// Parse decodes a file's frontmatter into the struct that head points to, by
// its yaml tags, and returns the text after it. A colon in a plain value is
// accepted. The error is [ErrNone] without frontmatter; other errors name the
// line of the file.
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
	if len(doc.Content) == 0 { // empty frontmatter
		return body, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return "", fmt.Errorf("line %d: frontmatter is not a mapping", root.Line+1)
	}
	if err := plain(root, 1); err != nil {
		return "", err
	}
	if err := root.Decode(head); err != nil {
		return "", inFile(err)
	}
	return body, nil
}

// Head returns a file's frontmatter, which starts at the second line of the
// file, and the text after it. As in [Parse], a plain value with a colon is
// quoted. The error is [ErrNone] without frontmatter. It does not validate the
// YAML.
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

// split splits a file into frontmatter and text.
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
				return "", "", errors.New("frontmatter is not valid UTF-8")
			}
			if more {
				body = rest[at+len(line)+1:]
			}
			return rest[:at], body, nil
		}
		if at += len(line) + 1; at > MaxHead {
			return "", "", fmt.Errorf("frontmatter exceeds %d KiB", MaxHead>>10)
		}
	}
	return "", "", errors.New("line 1: frontmatter has no closing --- line")
}

// quoted quotes plain values that contain a colon, such as in "description: Use
// when: always". It changes only unindented lines whose values start as plain
// scalars.
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

// plain rejects YAML features beyond plain mappings, sequences and scalars.
func plain(n *yaml.Node, depth int) error {
	line := n.Line + 1 // the parser does not count the first --- line
	switch {
	case depth > maxDepth:
		return fmt.Errorf("line %d: frontmatter nested more than %d levels deep", line, maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not supported", line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: tags such as %s are not supported", line, n.Tag)
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode || c.Tag == "!!merge" {
				return fmt.Errorf("line %d: a key must be a plain word", c.Line+1)
			}
			if seen[c.Value] {
				return fmt.Errorf("line %d: duplicate key %s", c.Line+1, c.Value)
			}
			seen[c.Value] = true
		}
		if err := plain(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inFile converts an error of the parser to one line with the file's line
// number.
func inFile(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if te := (*yaml.TypeError)(nil); errors.As(err, &te) && len(te.Errors) > 0 {
		text = te.Errors[0]
	}
	const hint = "a value that contains a colon must be quoted"
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 { // none if it is the first
		_, what, _ := strings.Cut(text, ": ")
		return fmt.Errorf("line %d: %s (%s)", line+1, what, hint)
	}
	return fmt.Errorf("frontmatter is not valid YAML: %s (%s)", text, hint)
}
