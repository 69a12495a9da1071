package command

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/millhand/millhand/internal/money"
)

// commandForms are the workflow commands that a GitHub runner obeys: "::" at the
// beginning of a line, white space aside, and "##[" anywhere, with or without
// characters in them that do not show.
var commandForms = regexp.MustCompile(`(?m)^([\s\p{Z}\p{C}\p{M}]*:[\p{C}\p{M}]*):|#[\p{C}\p{M}]*#[\p{C}\p{M}]*\[`)

// printable makes text safe for a terminal and a CI's log: control characters
// and those that reorder text become visible, and workflow commands are broken,
// so that nothing a model or a repository wrote can move the cursor or speak to
// the CI.
func printable(s string) string {
	s = commandForms.ReplaceAllStringFunc(s, func(found string) string {
		last := len(found) - 1
		return found[:last] + " " + found[last:]
	})
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // scripts and emoji need the joiners
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine is printable text without line ends, shortened to n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// dollars writes a cost for people.
func dollars(usd *money.USD) string {
	switch {
	case usd == nil:
		return "cost unknown"
	case *usd == 0:
		return "$0"
	case *usd < money.Dollar/10_000:
		return fmt.Sprintf("$%.6f", usd.Dollars())
	case *usd < money.Dollar: // as the table of the report has it
		return fmt.Sprintf("$%.4f", usd.Dollars())
	}
	return fmt.Sprintf("$%.2f", usd.Dollars())
}

// duration writes a time in milliseconds for people.
func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
