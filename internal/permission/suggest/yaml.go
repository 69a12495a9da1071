package suggest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// maxListed is the maximum number of calls in a list of comments.
const maxListed = 50

// page writes lines; the first error of the writer ends it.
type page struct {
	out io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// YAML writes the suggestion as the key profiles of a manifest, with comments. about describes
// the runs. Texts of models are quoted, or on one line of a comment.
func (s *Suggestion) YAML(out io.Writer, about string) error {
	p := &page{out: out}
	p.line("# Suggested from %s. Review it before you use it.", comment(about))
	p.line("# A run does not show which variables (env) and caches (cache) its commands need.")
	p.line("profiles:")
	p.line("  %s:", Name)
	if s.Extends != "" {
		p.line("    extends: %s  # %s", s.Extends, enough(s.Based))
	}
	if s.Extends == "" && len(s.Rules) == 0 {
		p.line("    permission: deny")
	}
	p.rules(s.Rules, s.Risky)
	if len(s.Network) > 0 {
		p.line("    network:")
		for _, h := range s.Network {
			p.line("      - %s  # %s", Quote(h.Name), figures.Count(h.Count, "connection"))
		}
	}
	if len(s.Examples) > 0 {
		p.line("    examples:")
		for _, e := range s.Examples {
			p.line("      - {%s: %s, subject: %s}", e.Effect, word(e.Tool), Quote(e.Subject))
		}
	}
	p.calls("Used, and not allowed by this profile:", s.Unstated, func(c Call) string { return c.Rule })
	p.calls("Denied:", s.Denied, func(c Call) string {
		text := c.Rule + " (" + c.Source + ")"
		if c.Allowed {
			text += "; ALLOWED by this profile, because accepted calls need the same"
		}
		return text
	})
	p.hosts(s.Refused)
	return p.err
}

func enough(n int) string {
	if n == 0 {
		return "not enough for any call"
	}
	return "enough for " + figures.Count(n, "call")
}

// rules writes the key permission. Risky rules are comments.
func (p *page) rules(active, risky []Rule) {
	switch {
	case len(active) > 0:
		p.line("    permission:")
	case len(risky) > 0:
		p.line("    # permission:")
	}
	for _, name := range permissionsOf(active, risky) {
		sign := ""
		if !slices.ContainsFunc(active, func(r Rule) bool { return r.Permission == name }) {
			sign = "# "
		}
		if name == permission.Git { // always risky
			p.line("      # git: write  # RISKY: %s", risky[slices.IndexFunc(risky, func(r Rule) bool { return r.Permission == name })].Risk)
			continue
		}
		p.line("      %s%s:", sign, word(name))
		for _, r := range active {
			if r.Permission == name {
				p.line("        %s: %s  # %s", Quote(r.Pattern), r.Effect, reason(r))
			}
		}
		for _, r := range risky {
			if r.Permission == name {
				p.line("        # %s: %s  # %s; RISKY: %s", Quote(r.Pattern), r.Effect, figures.Count(r.Calls, "call"), comment(r.Risk))
			}
		}
	}
}

func reason(r Rule) string {
	if r.Effect == permission.Deny {
		return "protected by the presets, and matched by a rule above"
	}
	return figures.Count(r.Calls, "call")
}

// permissionsOf returns the permissions of rules, each once.
func permissionsOf(lists ...[]Rule) []string {
	var names []string
	seen := map[string]bool{}
	for _, rules := range lists {
		for _, r := range rules {
			if !seen[r.Permission] {
				seen[r.Permission] = true
				names = append(names, r.Permission)
			}
		}
	}
	return names
}

// calls writes a list of calls as comments.
func (p *page) calls(title string, all []Call, why func(Call) string) {
	if len(all) == 0 {
		return
	}
	p.line("# %s", title)
	for i, c := range all {
		if i == maxListed {
			p.line("#   and %s", figures.Count(len(all)-i, "other call"))
			return
		}
		p.line("#   %d x %s %s: %s", c.Count, comment(c.Tool), strconv.Quote(comment(c.Subject)), comment(why(c)))
	}
}

// hosts writes the denied connections as comments.
func (p *page) hosts(all []Host) {
	if len(all) > 0 {
		p.line("# Denied connections of commands:")
	}
	for i, h := range all {
		if i == maxListed {
			p.line("#   and %s", figures.Count(len(all)-i, "other host"))
			return
		}
		p.line("#   %d x %s: %s", h.Count, comment(WithPort(h.Name, h.Port)), comment(h.Error))
	}
}

// comment returns a text on one line, without characters that affect a terminal or a CI's log.
func comment(s string) string { return printable.Line(s, printable.Width) }

// word returns the name of a permission or a tool, quoted unless it is a known one.
func word(name string) string {
	if slices.Contains(permission.Known(), name) || slices.Contains(permission.Tools(), name) {
		return name
	}
	return Quote(name)
}

// Quote returns a text as a double-quoted YAML string on one line. Only plain characters
// appear as they are.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	last := rune(0)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '#' && last == '#': // "##[" is a command of a GitHub runner
			b.WriteString(`\x23`)
		case r < 0x80 && unicode.IsPrint(r) || r >= 0xa0 && unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
		last = r
	}
	b.WriteByte('"')
	return b.String()
}
