package findings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/text/unidiff"
)

// Diff is a changed file of a pull request, and the lines of its new version that the diff shows.
type Diff struct {
	Old, Path string // names before and after
	Lines     []unidiff.Line
}

// Spot is a line of a diff with the findings on it.
type Spot struct {
	Old, Path string // of the file, before and after
	Line      unidiff.Line
	Findings  []Finding // the most severe first
	// Key identifies the line by its file and text: it stays the same if other lines move it.
	Key string
}

// Place separates the findings that are on lines of the diffs from the others. The number of a line is that of the file as the
// review has read it, of which read returns the lines; nil if it is unknown. The diff may be of another commit, as in a CI that
// has merged the base into the head: a line is the one with its number and its text, else the only one with its text.
// Of more than most findings on a line, the most severe are there.
func (r *Review) Place(diffs []Diff, read func(path string) []string, most int) (spots []Spot, others []Finding) {
	files := map[string]*placing{}
	at := map[string]int{} // indices of spots by key
	for _, f := range r.Findings {
		p := files[f.Path]
		if p == nil {
			p = newPlacing(f.Path, diffs)
			if len(p.Lines) > 0 {
				p.read = read(f.Path)
			}
			files[f.Path] = p
		}
		line, ok := p.find(f.Line)
		key := p.keys[line.New]
		i, exists := at[key]
		switch {
		case !ok, exists && len(spots[i].Findings) == most:
			others = append(others, f)
		case exists:
			spots[i].Findings = append(spots[i].Findings, f)
		default:
			at[key] = len(spots)
			spots = append(spots, Spot{p.Old, p.Path, line, []Finding{f}, key})
		}
	}
	return spots, others
}

// placing is the diff of one file, with its lines by number and by text.
type placing struct {
	Diff
	read   []string
	byLine map[int]unidiff.Line
	byText map[string][]unidiff.Line
	keys   map[int]string
}

func newPlacing(path string, diffs []Diff) *placing {
	p := &placing{byLine: map[int]unidiff.Line{}, byText: map[string][]unidiff.Line{}, keys: map[int]string{}}
	for _, d := range diffs {
		if d.Path == path {
			p.Diff = d
		}
	}
	for _, l := range p.Lines {
		text := strings.TrimSpace(l.Text)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", path, text, len(p.byText[text])))
		p.keys[l.New] = hex.EncodeToString(sum[:8])
		p.byLine[l.New] = l
		p.byText[text] = append(p.byText[text], l)
	}
	return p
}

// find returns the line of the diff that is a line of the file that was read.
func (p *placing) find(number int) (unidiff.Line, bool) {
	if number < 1 || number > len(p.read) {
		return unidiff.Line{}, false
	}
	text := strings.TrimSpace(p.read[number-1])
	if l, ok := p.byLine[number]; ok && strings.TrimSpace(l.Text) == text {
		return l, true
	}
	if same := p.byText[text]; text != "" && len(same) == 1 {
		return same[0], true
	}
	return unidiff.Line{}, false
}
