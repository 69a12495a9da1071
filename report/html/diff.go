package html

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

// lines renders the lines of a unified diff, with marks before the changes of lines of the new version.
func lines(diff string, marks map[int]string) g.Node {
	var all []g.Node
	number := 0 // of the next line in the new version
	for line := range strings.Lines(diff) {
		class := ""
		if mark := marks[number]; number > 0 && mark != "" && strings.ContainsAny(line[:1], "+-") {
			all = append(all, h.Span(h.Class("mark"), text(mark+"\n")))
			marks[number] = ""
		}
		switch {
		case strings.HasPrefix(line, "@@"):
			number = newLine(line)
			class = "at"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		if line[0] == '+' || line[0] == ' ' {
			number++
		}
		line = strings.TrimRight(line, "\r\n") + "\n"
		if class == "" {
			all = append(all, text(line))
			continue
		}
		all = append(all, h.Span(h.Class(class), text(line)))
	}
	return h.Pre(h.Class("diff"), g.Group(all))
}

// newLine returns the first line in the new version of a hunk with this header, 0 if it has none.
func newLine(header string) int {
	_, after, _ := strings.Cut(header, " +")
	digits, _, _ := strings.Cut(after, " ")
	digits, _, _ = strings.Cut(digits, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// unneeded returns the marks of the hunks of a file that no verify command needs, by line; by 0 that of the file.
func unneeded(a *event.Hunks, path string) map[int]string {
	marks := map[int]string{}
	if a == nil {
		return marks
	}
	for _, one := range a.UnneededHunks() {
		switch {
		case one.Path != path:
		case one.Kind != "lines":
			marks[0] = "needed by nothing"
		default:
			marks[one.Line] = fmt.Sprintf("needed by nothing: +%d −%d", one.Added, one.Removed)
		}
	}
	return marks
}

// replaced is the diff of two texts, without file names.
func replaced(before, after string) g.Node {
	diff := udiff.Unified("a", "b", ending(before), ending(after))
	_, diff, _ = strings.Cut(diff, "\n")
	_, diff, _ = strings.Cut(diff, "\n")
	return lines(diff, nil)
}

// ending completes the last line of a text.
func ending(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// openLines is the number of lines up to which the diff of a file is open.
const openLines = 60

// maxAbout is the maximum length of what git writes before the changes of a file: paths and modes.
const maxAbout = 10_000

// patch renders a patch of git, a fold for each file, at most limit bytes, and marks what no verify command needs.
func patch(diff string, a *event.Hunks, limit int) []g.Node {
	var all []g.Node
	left := limit
	files := strings.Split("\n"+diff, "\ndiff --git ")[1:]
	for i, file := range files {
		if left <= 0 {
			all = append(all, h.P(g.Text(figures.Count(len(files)-i, "other file")+" in the patch.")))
			break
		}
		name, body, _ := strings.Cut(file, "\n")
		at := strings.Index(body, "\n@@")
		about := body
		hunks := ""
		if strings.HasPrefix(body, "@@") {
			about, hunks = "", body
		} else if at >= 0 {
			about, hunks = body[:at], body[at+1:]
		}
		added, removed := counted(hunks)
		name = path(name, about)
		marks := unneeded(a, name)
		summary := []g.Node{code(name), g.Text(fmt.Sprintf(" +%d −%d", added, removed))}
		if marks[0] != "" {
			summary = append(summary, g.Text(", "), h.Span(h.Class("mark"), g.Text(marks[0])))
		}
		about, _, binary := strings.Cut(about, "\nGIT binary patch\n")
		if binary {
			about += "\nBinary content, which the patch has in full."
		}
		content := []g.Node{g.If(binary || !strings.HasPrefix(about, "index "), block("about", cut(about, maxAbout))), lines(cut(hunks, left), marks)}
		all = append(all, h.Details(h.Class("file"), g.If(added+removed <= openLines && len(files) <= 5, g.Attr("open")), h.Summary(summary...), h.Div(content...)))
		left -= len(file)
	}
	return all
}

// path returns the path of a file in a patch: of its new version, unless it was deleted.
func path(header, about string) string {
	for _, prefix := range []string{"\n+++ b/", "\n--- a/"} {
		if _, rest, ok := strings.Cut("\n"+about, prefix); ok {
			name, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSuffix(name, "\t")
		}
	}
	half := len(header) / 2
	if name, ok := strings.CutPrefix(header[:half], "a/"); ok && header[half:] == " b/"+name {
		return name
	}
	return header
}

func counted(hunks string) (added, removed int) {
	for line := range strings.Lines(hunks) {
		switch {
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}
