package suggest

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Name is the name of the suggested profile.
const Name = "suggested"

// manyFiles is the number of files, or of globs, that a glob of their directory replaces.
const manyFiles = 3

// maxWords is the maximum number of words before the wildcard of a pattern for commands.
const maxWords = 6

// pattern is what a rule allows.
type pattern struct{ permission, text string }

func (p pattern) rule() permission.Rule {
	return permission.Rule{Permission: p.permission, Pattern: p.text, Effect: permission.Allow, Source: Name}
}

// allows reports whether a rule alone allows what is needed.
func allows(r permission.Rule, n permission.Request) bool {
	return r.Effect == permission.Allow && !n.Inner && permits(permission.Profile{Rules: []permission.Rule{r}}, n)
}

// permits reports whether a profile allows what is needed. It avoids a decision, which also
// finds what is allowed instead, where it can.
func permits(p permission.Profile, n permission.Request) bool {
	if n.Open == "" && n.Unknown == "" && n.Forbidden == "" && !n.Inner {
		return p.Allows(n.Permission, n.Subjects...)
	}
	return p.Decide(n).Allowed()
}

// permitsCall reports whether a profile allows a call.
func permitsCall(p permission.Profile, c Call) bool {
	return !slices.ContainsFunc(c.Needs, func(n permission.Request) bool { return !permits(p, n) })
}

// isFile reports whether a need is that of a file in the workspace.
func isFile(n permission.Request) bool { return n.Permission == "edit" || n.Permission == "read" }

// candidates returns the patterns of rules that allow what is needed, from wide to narrow;
// none if no rule should.
func candidates(n permission.Request) []pattern {
	if strings.ContainsAny(n.Permission, "*?") {
		return nil // it would be a rule for other tools, too
	}
	var texts []string
	subject := n.Subject()
	switch n.Permission {
	case "bash":
		texts = commandPatterns(subject, n.Open != "")
	case "edit", "read":
	case permission.Git: // a manifest has one rule for all of it
		return []pattern{{n.Permission, "*"}}
	case permission.ExternalDirectory, permission.ExternalRead:
		if dir := path.Dir(subject); dir != "/" && dir != "." {
			texts = []string{dir + "/*"}
		}
	case "webfetch":
		if u, err := url.Parse(subject); err == nil && u.Host != "" && !strings.ContainsAny(u.Host, "*?") {
			texts = []string{u.Scheme + "://" + u.Host + "/*"}
		}
	default:
		texts = []string{"*"}
	}
	if subject != "*" {
		texts = append(texts, exact(subject))
	}
	var out []pattern
	for _, text := range texts {
		p := pattern{n.Permission, text}
		if text != "" && !slices.Contains(out, p) && allows(p.rule(), n) {
			out = append(out, p)
		}
	}
	return out
}

// exact returns a pattern that matches a subject, and others only in characters that are
// special in patterns or in manifests.
func exact(subject string) string {
	subject = strings.ReplaceAll(subject, "*", "?")
	if strings.HasPrefix(subject, "~") || strings.HasPrefix(subject, "$HOME") {
		subject = "?" + subject[1:]
	}
	return strings.ReplaceAll(subject, "${{", "?{{")
}

// commandPatterns returns patterns for a command: its program and subcommand with any
// arguments, then with more words. In an open one, expansions stand for unknown texts.
func commandPatterns(command string, open bool) []string {
	words := strings.Fields(command)
	var out []string
	for n := stem(words); n > 0 && n <= min(len(words), maxWords); n++ {
		prefix := strings.Join(words[:n], " ")
		if prefix != command && !strings.HasPrefix(command, prefix+" ") {
			break // more than one space
		}
		if out = append(out, exact(prefix)+" *"); open {
			out = append(out, exact(prefix)+"*") // an expansion after it may be empty, with the space before it
		}
	}
	return out
}

// isPlain reports whether a word is like the name of a subcommand, a target or a script.
func isPlain(word string) bool {
	isLetter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	for i := range len(word) {
		if c := word[i]; !isLetter(c) && (i == 0 || (c < '0' || c > '9') && c != ':' && c != '_' && c != '-') {
			return false
		}
	}
	return word != ""
}

// stem returns the number of words that identify what a command does: the program, its
// subcommand, and that of the subcommand.
func stem(words []string) int {
	if len(words) == 0 {
		return 0
	}
	switch kind := programs()[program(words[0])]; {
	case kind == subcommands:
		n := 1
		for n < len(words) && n < maxWords-1 && strings.HasPrefix(words[n], "-") {
			n++
		}
		if n == len(words) || !isPlain(words[n]) && n > 1 {
			return n
		}
		if slices.Contains([]string{"run", "tool", "mod", "exec", "compose", "x", "dlx"}, words[n]) && n+1 < len(words) && isPlain(words[n+1]) {
			n++
		}
		return n + 1
	case kind == interpreter && len(words) > 1:
		if words[1] == "-m" && len(words) > 2 {
			return 3
		}
		return 2
	}
	return 1
}

// program returns the name of a program without its directory.
func program(word string) string {
	return strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
}

// globs returns patterns for the files that are needed. A directory with many files of an
// extension gets one for all of these, below it too, unless that is blocked.
func globs(needs []permission.Request, blocked map[pattern]bool) []pattern {
	by := map[[2]string]pattern{} // by permission and file
	type group struct{ permission, dir, ext string }
	groups := map[group][]string{}
	for _, n := range needs {
		if !isFile(n) {
			continue
		}
		file := n.Subject()
		by[[2]string{n.Permission, file}] = pattern{n.Permission, exact(file)}
		ext := path.Ext(file)
		if ext == "" || ext == path.Base(file) || !isPlain(ext[1:]) {
			continue
		}
		for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
			g := group{n.Permission, dir, ext}
			groups[g] = append(groups[g], file)
		}
	}
	order := make([]group, 0, len(groups))
	for g := range groups {
		order = append(order, g)
	}
	slices.SortFunc(order, func(a, b group) int { return strings.Count(b.dir, "/") - strings.Count(a.dir, "/") })
	for _, g := range order {
		distinct := map[pattern]bool{}
		for _, file := range groups[g] {
			distinct[by[[2]string{g.permission, file}]] = true
		}
		glob := pattern{g.permission, exact(g.dir) + "/*" + g.ext}
		if len(distinct) < manyFiles || blocked[glob] {
			continue
		}
		for _, file := range groups[g] {
			by[[2]string{g.permission, file}] = glob
		}
	}
	out := make([]pattern, 0, len(by))
	for _, p := range by {
		out = append(out, p)
	}
	return out
}
