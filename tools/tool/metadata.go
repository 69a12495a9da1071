package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/jsontext"
	"github.com/millhand/millhand/tools/cut"
)

// Metadata describes the result of a call for the record. Fields that do not apply
// are zero.
type Metadata struct {
	ExitCode     *int       // of the command; -1 if it was killed
	Added        *int       // lines, the sum over the files that the call wrote
	Removed      *int       // lines, like Added
	Matcher      string     // by which edit found oldString, see package edit
	OutputPath   string     // absolute path of the file with the full output of a truncated result
	HTTPStatus   int        // of the last response
	ChildSession string     // id of the session that the call started or continued
	ChildCostUSD *money.USD // cost of the child session's turns within this call; nil if unknown
	Loaded       []string   // files with instructions for a directory that were attached, relative to the workspace

	Custom        json.RawMessage // a JSON object that a tool file or a plugin reported
	CustomOmitted int             // size in bytes of a Custom that is too large, and left out
}

// IsZero reports whether nothing applies.
func (m *Metadata) IsZero() bool { return reflect.ValueOf(*m).IsZero() }

// Limits of what a tool file or a plugin makes of a report.
const (
	MaxCustom      = 64 << 10
	MaxCustomDepth = 100
)

// SetCustom sets what a tool file or a plugin reported. What is no object is ignored.
func (m *Metadata) SetCustom(text json.RawMessage) {
	m.Custom, m.CustomOmitted = nil, 0
	var object map[string]json.RawMessage
	var compact bytes.Buffer
	if json.Unmarshal(text, &object) != nil || len(object) == 0 || json.Compact(&compact, text) != nil {
		return
	}
	if compact.Len() > MaxCustom || jsontext.Depth(text) > MaxCustomDepth {
		m.CustomOmitted = compact.Len()
		return
	}
	m.Custom = compact.Bytes()
}

// MaxDiff is the maximum size of two texts together whose diff is made, in bytes.
// Otherwise the order of lines is ignored.
const MaxDiff = 256 << 10

// CountLines adds the lines that differ between two versions of a file.
func (m *Metadata) CountLines(before, after string) {
	if m.Added == nil {
		m.Added, m.Removed = new(int), new(int)
	}
	if len(before)+len(after) > MaxDiff {
		added, removed := countsUnordered(before, after)
		*m.Added, *m.Removed = *m.Added+added, *m.Removed+removed
		return
	}
	for _, e := range udiff.Lines(before, after) {
		*m.Added += cut.LineCount(e.New)
		*m.Removed += cut.LineCount(before[e.Start:e.End])
	}
}

// countsUnordered counts the lines that are in only one of two texts.
func countsUnordered(before, after string) (added, removed int) {
	rest := map[string]int{}
	for line := range strings.Lines(before) {
		rest[line]++
		removed++
	}
	for line := range strings.Lines(after) {
		if rest[line] == 0 {
			added++
			continue
		}
		rest[line]--
		removed--
	}
	return added, removed
}
