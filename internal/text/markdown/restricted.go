package markdown

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/millhand/millhand/internal/text/printable"
)

// Limits of the form of a text.
const (
	maxDepth = 8 // containers in one another, which repeat their marks in each line
	demoted  = 3 // levels of headings above are those of summaries
)

// restricted renders a tree as restricted Markdown.
type restricted struct {
	source []byte
}

// blocks returns the lines of the blocks in a container.
func (r *restricted) blocks(parent ast.Node, tight bool, depth int) []string {
	var all []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := r.block(n, depth)
		if len(lines) > 0 && len(all) > 0 && !(tight && n.Kind() == ast.KindList) {
			all = append(all, "")
		}
		all = append(all, lines...)
	}
	return all
}

func (r *restricted) block(n ast.Node, depth int) []string {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		if text := r.inline(n, false); text != "" {
			return strings.Split(text, "\n")
		}
		return nil
	case *ast.Heading:
		return []string{strings.Repeat("#", min(n.Level+demoted, 6)) + " " + r.inline(n, true)}
	case *ast.ThematicBreak:
		return []string{"***"}
	case *ast.FencedCodeBlock:
		return fenced(language(string(n.Language(r.source))), r.code(n))
	case *ast.CodeBlock:
		return fenced("", r.code(n))
	case *ast.Blockquote:
		return contained(r.blocks(n, false, depth+1), "> ", "> ", depth)
	case *ast.List:
		return r.list(n, depth)
	case *extension.Table:
		return r.table(n)
	}
	return r.blocks(n, false, depth)
}

// contained puts a mark before lines, unless there are too many already.
func contained(lines []string, first, rest string, depth int) []string {
	if depth >= maxDepth {
		return lines
	}
	for i, line := range lines {
		mark := rest
		if i == 0 {
			mark = first
		}
		lines[i] = strings.TrimRight(mark+line, " ")
	}
	return lines
}

func (r *restricted) list(list *ast.List, depth int) []string {
	var all []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		lines := r.blocks(item, list.IsTight, depth+1)
		if len(lines) == 0 {
			lines = []string{""}
		}
		if len(all) > 0 && !list.IsTight {
			all = append(all, "")
		}
		all = append(all, contained(lines, mark, strings.Repeat(" ", len(mark)), depth)...)
	}
	return all
}

func (r *restricted) table(table ast.Node) []string {
	var all []string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var line strings.Builder
		line.WriteString("|")
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			line.WriteString(" " + r.inline(cell, true) + " |")
		}
		all = append(all, line.String())
		if len(all) == 1 {
			all = append(all, "|"+strings.Repeat("---|", row.ChildCount()))
		}
	}
	return all
}

// code returns the text of a block of code.
func (r *restricted) code(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// command matches a line that may be a quick action of GitLab, which has found them also in some
// blocks of code.
var command = regexp.MustCompile(`(?m)^(\s*)(/\w+(?:\s|$))`)

// fenced returns a text as a block of code.
func fenced(language, code string) []string {
	code = strings.TrimRight(printable.Disarm(printable.Pauses(code)), "\n")
	code = command.ReplaceAllString(code, "$1"+printable.Pause+"$2")
	fence := printable.Fence(code)
	return append(append([]string{fence + language}, strings.Split(code, "\n")...), fence)
}

// language returns the language of a block of code if forges do nothing with it but colour the code: they
// draw the diagrams and maps of others, and offer to commit suggestions.
func language(name string) string {
	name = strings.ToLower(name)
	for known := range strings.FieldsSeq("bash c c++ clojure cmake console cpp cs csharp css cxx dart diff dockerfile elixir erlang fish " +
		"go gradle graphql groovy haskell hcl html ini java javascript js json json5 jsonc jsx julia kotlin lua make makefile markdown md nix " +
		"objc ocaml patch perl php powershell proto protobuf ps1 py python r rb rego rs ruby rust scala scss sh shell sql svelte swift terraform tf toml ts tsx " +
		"txt text typescript vue xml yaml yml zig zsh") {
		if name == known {
			return name
		}
	}
	return ""
}

// inline returns the text of a block: one line if it is in a heading or a table.
func (r *restricted) inline(block ast.Node, oneLine bool) string {
	w := inlines{source: r.source, oneLine: oneLine, cell: block.Kind() == extension.KindTableCell}
	w.children(block)
	return strings.TrimSpace(w.b.String())
}

// inlines renders text, code and emphasis.
type inlines struct {
	source  []byte
	oneLine bool
	cell    bool // of a table, where pipes in code are after backslashes
	struck  bool // within deleted text
	b       strings.Builder
}

func (w *inlines) children(parent ast.Node) {
	var run []byte // adjacent text, which is escaped together
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		t, ok := n.(*ast.Text)
		if !ok {
			w.text(string(run))
			run = run[:0]
			w.inline(n)
			continue
		}
		run = append(run, util.UnescapePunctuations(t.Segment.Value(w.source))...)
		switch {
		case t.SoftLineBreak() || t.HardLineBreak() && w.oneLine:
			run = append(run, '\n')
		case t.HardLineBreak():
			w.text(string(run))
			run = run[:0]
			w.b.WriteString("\\\n")
		}
	}
	w.text(string(run))
}

func (w *inlines) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.CodeSpan:
		var code []byte
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				code = append(code, t.Segment.Value(w.source)...)
			}
		}
		w.code(string(code))
	case *ast.Emphasis:
		w.around(strings.Repeat("*", n.Level), n)
	case *extension.Strikethrough:
		if w.struck { // more than two tildes could start a block of code
			w.children(n)
			return
		}
		w.struck = true
		w.around("~~", n)
		w.struck = false
	case *ast.Link:
		w.children(n)
		w.target(n.Destination)
	case *ast.Image:
		w.text("image: ")
		w.children(n)
		w.target(n.Destination)
	case *ast.AutoLink:
		w.code(string(n.URL(w.source)))
	default:
		w.children(n)
	}
}

func (w *inlines) around(mark string, n ast.Node) {
	w.b.WriteString(mark)
	w.children(n)
	w.b.WriteString(mark)
}

// target writes the address of a hyperlink after its text.
func (w *inlines) target(address []byte) {
	if len(address) == 0 {
		return
	}
	w.b.WriteString(" (")
	w.code(string(address))
	w.b.WriteString(")")
}

// code writes a code span.
func (w *inlines) code(s string) {
	s = strings.ReplaceAll(s, "\n", " ")
	if strings.TrimSpace(s) == "" {
		return
	}
	if w.cell {
		s = strings.ReplaceAll(s, `\|`, "|")
	}
	s = printable.Pauses(s)
	if w.oneLine { // a pipe would end the cell of a table, even if some parsers see an escaped backslash before it
		s = strings.ReplaceAll(strings.ReplaceAll(s, `\|`, `\`+printable.Pause+"|"), "|", `\|`)
	}
	ticks := "`"
	if strings.Contains(s, "``") {
		ticks = printable.Fence(s)
	} else if strings.Contains(s, "`") {
		ticks = "``"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	if w.tail() == "`" {
		w.b.WriteString(" ")
	}
	w.b.WriteString(ticks + s + ticks)
}

// address matches what forges make hyperlinks of.
var address = regexp.MustCompile("(?i)(?:[a-z][a-z0-9+.-]*://|www\\.)[^\\s<>\"`|]*[^\\s<>\"`|.,:;!?'()\\[\\]*_~]")

// text writes text, and the addresses in it as code.
func (w *inlines) text(s string) {
	if s != "" && strings.ContainsAny(w.tail(), "@#!-/") { // otherwise the text of a hyperlink could complete a reference
		w.b.WriteString(printable.Pause)
	}
	for s != "" {
		at := address.FindStringIndex(s)
		if at == nil {
			w.plain(s)
			return
		}
		w.plain(s[:at[0]])
		w.code(s[at[0]:at[1]])
		s = s[at[1]:]
	}
}

// plain writes text that has no meaning in Markdown.
func (w *inlines) plain(s string) {
	runes := []rune(printable.Pauses(s))
	for i, c := range runes {
		var before, after rune
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		start := w.tail() == "" || w.tail() == "\n"
		switch {
		case c == '\n' && w.oneLine:
			w.b.WriteRune(' ')
		case start && (c == ' ' || c == '\t'):
		case c == '<':
			w.b.WriteString("&lt;")
		case c == '$': // formulas
			w.b.WriteString("&dollar;")
		case c == '&' && after >= '0' && after <= '9': // epics of GitLab
			w.b.WriteString("&amp;" + printable.Pause)
		case c == '&' && (after == 0 || after == '#' || isWord(after)):
			w.b.WriteString("&amp;")
		case strings.ContainsRune("\\`*[]~|", c),
			c == '_' && !(isWord(before) && isWord(after)),
			start && strings.ContainsRune("#>-+=:;/", c),
			(c == '.' || c == ')') && w.numbered():
			w.b.WriteString(`\` + string(c))
		default:
			w.b.WriteRune(c)
		}
	}
}

// tail returns the last byte, "" without one.
func (w *inlines) tail() string { return w.b.String()[max(0, w.b.Len()-1):] }

// isWord reports whether underscores beside a character may be no emphasis.
func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// numbered reports whether the line is a number so far, as that of an item of a list.
func (w *inlines) numbered() bool {
	line := w.b.String()
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return line != "" && len(line) < 10 && strings.Trim(line, "0123456789") == ""
}
