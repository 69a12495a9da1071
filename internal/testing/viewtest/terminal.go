// Package viewtest has a terminal for tests of the log.
package viewtest

import (
	"fmt"
	"strings"
	"testing"
)

// Terminal shows what is written to it, and keeps all rows. It fails the test for a control
// sequence that the log does not use.
type Terminal struct {
	TB         testing.TB
	Cols, Rows int
	Writes     int // calls of Write

	text     [][]cell // rows
	row, col int
	style    string // of what is written next: the argument of the last sequence m
}

// cell is a character of a row.
type cell struct {
	char  rune
	style string
}

// Size returns the size of the terminal.
func (v *Terminal) Size() (cols, rows int) { return v.Cols, v.Rows }

// Write shows text.
func (v *Terminal) Write(p []byte) (int, error) {
	v.Writes++
	text := string(p)
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= 'A' }) + 2
			v.control(text[2:end], text[end])
			text = text[end+1:]
			continue
		case text[0] == '\r':
			v.col = 0
		case text[0] == '\n':
			v.row, v.col = v.row+1, 0
		default:
			r := []rune(text)[0]
			v.put(r)
			text = text[len(string(r)):]
			continue
		}
		text = text[1:]
	}
	return len(p), nil
}

func (v *Terminal) control(argument string, command byte) {
	switch {
	case command == 'A':
		n := 0
		fmt.Sscan(argument, &n) //nolint:errcheck // 0 for an invalid number
		if v.row -= n; v.row < 0 {
			v.TB.Fatalf("the cursor is moved %d rows above the first", -v.row)
		}
	case command == 'K' && argument == "":
		v.clip(v.row)
	case command == 'J' && argument == "":
		v.clip(v.row)
		v.text = v.text[:min(len(v.text), v.row+1)]
	case command == 'm':
		v.style = strings.TrimPrefix(argument, "0")
	default:
		v.TB.Fatalf("unknown sequence %s%c", argument, command)
	}
}

func (v *Terminal) clip(row int) {
	v.at(row)
	v.text[row] = v.text[row][:min(len(v.text[row]), v.col)]
}

func (v *Terminal) at(row int) {
	for len(v.text) <= row {
		v.text = append(v.text, nil)
	}
}

func (v *Terminal) put(r rune) {
	if v.col >= v.Cols {
		v.row, v.col = v.row+1, 0
	}
	v.at(v.row)
	line := v.text[v.row]
	for len(line) <= v.col {
		line = append(line, cell{char: ' '})
	}
	line[v.col] = cell{r, v.style}
	v.text[v.row], v.col = line, v.col+1
}

// String returns the rows, without spaces at their ends.
func (v *Terminal) String() string {
	var b strings.Builder
	for _, line := range v.text {
		b.WriteString(plain(line) + "\n")
	}
	return b.String()
}

// plain returns the text of a row, without spaces at its end.
func plain(line []cell) string {
	text := make([]rune, len(line))
	for i, c := range line {
		text[i] = c.char
	}
	return strings.TrimRight(string(text), " ")
}

// Resize wraps the rows again, as most terminals do. It knows no rows that were wrapped
// before.
func (v *Terminal) Resize(cols int) {
	var text [][]cell
	row := v.row
	for i, line := range v.text {
		for len(line) > cols {
			text, line = append(text, line[:cols]), line[cols:]
			if i <= v.row {
				row++
			}
		}
		text = append(text, line)
	}
	v.text, v.Cols, v.row = text, cols, row
	v.col = len(text[row])
}
