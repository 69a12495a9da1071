package repolist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// What lists of repositories may hold at most.
const (
	maxList      = 10 << 20  // bytes of one
	maxLines     = 100_000   // lines of one
	maxAllLines  = 1_000_000 // of all that a load reads
	maxLineBytes = 8 << 10
)

// ParseRepoLine reads one line of a list of repositories, as repos: [{file: LIST}]
// has them and a run writes them: a path, copy:PATH or a URL, then perhaps
// ref=REF, then perhaps a comment, which a "#" at the begin of the line or after
// white space opens. A path that holds such a "#", quotes or the like stands in
// double quotes, with the escapes of Go's strings; what is in quotes is a path
// whatever it looks like. named is false for a line that is empty or a comment.
// A path is returned as it is written.
func ParseRepoLine(line string) (r tasks.Repo, named bool, err error) {
	r, named, f := parseLine(line)
	if f != nil {
		return tasks.Repo{}, false, f
	}
	return r, named, nil
}

const blanks = " \t"

func parseLine(line string) (tasks.Repo, bool, *problem.Fault) {
	s := strings.Trim(strings.TrimSuffix(line, "\r"), blanks)
	r := tasks.Repo{Kind: tasks.RepoPath}
	if rest, ok := strings.CutPrefix(s, "copy:"); ok {
		r.Kind, s = tasks.RepoCopy, strings.TrimLeft(rest, blanks)
	}
	switch {
	case s == "" && r.Kind == tasks.RepoPath || strings.HasPrefix(s, "#") && r.Kind == tasks.RepoPath:
		return tasks.Repo{}, false, nil
	case len(line) > maxLineBytes:
		return tasks.Repo{}, false, &problem.Fault{What: fmt.Sprintf("the line exceeds %d bytes", maxLineBytes), Fix: "write one repository a line"}
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
		return tasks.Repo{}, false, &problem.Fault{What: "the line contains a control character or invalid UTF-8", Fix: `write the path in double quotes, with \x and two digits for it`}
	}
	target, quoted, fault := cutTarget(&r, s)
	switch {
	case fault != nil:
	case quoted || r.Kind == tasks.RepoCopy || tasks.IsPath(target):
		r.Dir = target
	default:
		r.Kind = tasks.RepoURL
		r.URL, fault = parseURL(target)
	}
	if fault == nil && r.Kind == tasks.RepoCopy && r.Ref != "" {
		fault = copyRef()
	}
	return r, fault == nil, fault
}

func copyRef() *problem.Fault {
	return &problem.Fault{What: "ref is not supported with copy", Fix: "remove it, or name the directory without copy:"}
}

// cutTarget splits a line into the name of the repository and the revision.
func cutTarget(r *tasks.Repo, s string) (target string, quoted bool, f *problem.Fault) {
	rest := ""
	if quoted = strings.HasPrefix(s, `"`); quoted {
		q, err := strconv.QuotedPrefix(s)
		if err == nil {
			target, err = strconv.Unquote(q)
		}
		rest = s[len(q):]
		if err != nil || rest != "" && !strings.ContainsAny(rest[:1], blanks) {
			return "", true, &problem.Fault{What: "invalid quoted path", Fix: `write "PATH", with \" for a quote and \\ for a backslash in it`}
		}
		rest = strings.Trim(beforeComment(rest), blanks)
	} else {
		target = strings.Trim(beforeComment(s), blanks)
		if i := strings.LastIndexAny(target, blanks) + 1; strings.HasPrefix(target[i:], "ref=") {
			target, rest = strings.TrimRight(target[:i], blanks), target[i:]
		}
	}
	ref, isRef := strings.CutPrefix(rest, "ref=")
	switch {
	case target == "":
		return "", quoted, &problem.Fault{What: "missing repository", Fix: "write a path, copy:PATH or a URL"}
	case rest != "" && !isRef:
		return "", quoted, &problem.Fault{What: "unexpected " + problem.Quote(rest) + " after the path", Fix: "write ref=REF, or # before a comment"}
	case isRef && !isRevision(ref):
		return "", quoted, &problem.Fault{What: "invalid revision " + problem.Quote(ref), Fix: "name a branch, a tag or a commit after ref="}
	}
	r.Ref = ref
	return target, quoted, nil
}

// beforeComment returns a line without its comment.
func beforeComment(s string) string {
	for i := range s {
		if s[i] == '#' && (i == 0 || strings.IndexByte(blanks, s[i-1]) >= 0) {
			return s[:i]
		}
	}
	return s
}

// listing is a list of repositories while it is read.
type listing struct {
	repoEntry
	all   []Repo
	named int // repositories, picked or not
	wrong bool
}

// listed returns the repositories of a list, those without a mistake.
func (e repoEntry) listed() ([]Repo, bool) {
	if e.target.S == "-" && e.Src.Inputs.Ignored {
		return nil, true
	}
	data, ok := e.listData()
	if !ok {
		return nil, false
	}
	l := &listing{repoEntry: e}
	l.Src = &form.Source{File: problem.File{Name: e.listName(), Found: e.Src.Found}, Dir: e.Src.Dir, Inputs: e.Src.Inputs, Policies: e.Src.Policies}
	if e.target.S == "-" { // standard input is the operator's
		l.Src.Policies = l.Src.Policies.Own()
	}
	lines := bytes.Split(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	e.Src.Inputs.Lines += len(lines)
	if len(lines) > maxLines || e.Src.Inputs.Lines > maxAllLines {
		e.target.Problem(fmt.Sprintf("list %s exceeds %d lines, or all lists exceed %d lines", problem.Quote(e.target.S), maxLines, maxAllLines), "split it")
		return nil, false
	}
	for n, line := range lines {
		l.line(n+1, string(line))
	}
	switch {
	case l.wrong:
	case l.named == 0:
		e.target.Problem(fmt.Sprintf("no repository in list %s", problem.Quote(e.target.S)), "write one a line: a path, copy:PATH or a URL")
	case len(l.all) == 0:
		e.target.Problem(fmt.Sprintf("no repository of %s is left after include and exclude", problem.Quote(e.target.S)), "compare their patterns with the list")
	}
	return l.all, true
}

// line reads one line.
func (l *listing) line(number int, s string) {
	r, named, f := parseLine(s)
	if f == nil && !named {
		return
	}
	l.named++
	if r.Ref == "" {
		r.Ref = l.ref
	}
	if r.Kind == tasks.RepoURL {
		r.Depth = l.depth
	}
	e := l.repoEntry
	e.Node = &yaml.Node{Line: number, Column: 1 + len(s) - len(strings.TrimLeft(s, blanks))}
	e.Use, e.Key = e.Node, nil
	if f != nil {
		e.Problem(f.What, f.Fix)
		l.wrong = true
		return
	}
	one, picked, ok := e.one(r, e.Value)
	if f = copyRef(); picked && r.Kind == tasks.RepoCopy && r.Ref != "" {
		e.Problem(f.What, f.Fix)
		ok = false
	}
	if picked && ok {
		l.all = append(l.all, one)
	}
	l.wrong = l.wrong || !ok
}

// listData returns what a list holds.
func (e repoEntry) listData() ([]byte, bool) {
	var data []byte
	var err error
	in, name := e.Src.Inputs, e.target.S
	switch {
	case name != "-" && e.target.Outside(userfile.Resolve(e.Src.Dir, name), name):
		return nil, false
	case name != "-" && e.target.Uses().Beyond(userfile.Resolve(e.Src.Dir, name)): // errors would quote it
		e.target.Problem(problem.Quote(name)+" is an absolute path, and not an input of the run", "write it relative to the manifest")
		return nil, false
	case name != "-":
		e.target.Uses().Named(e.target.Value, userfile.Resolve(e.Src.Dir, name), name)
		data, err = userfile.ReadRegular(userfile.Resolve(e.Src.Dir, name), maxList)
	case in.Taken != "":
		e.target.Problem("standard input is already read as "+in.Taken, "write the list to a file")
		return nil, false
	case in.Stdin == nil:
		err = os.ErrClosed
	default:
		in.Taken = "the list at " + e.target.Position()
		data, err = in.Stdin()
		e.target.Uses().Listed(data)
	}
	switch {
	case err == nil && len(data) > maxList || errors.Is(err, userfile.ErrTooLarge):
		e.target.Problem(fmt.Sprintf("list %s exceeds 10 MiB", problem.Quote(name)), "split it")
	case err != nil && name == "-":
		e.target.Problem("cannot read standard input: "+userfile.Reason(err), "write the list to a file")
	case err != nil:
		e.target.Problem(fmt.Sprintf("list %s: %s", problem.Quote(name), userfile.Missing(err)), "check its path; it is relative to the manifest")
	default:
		return data, true
	}
	return nil, false
}

// listName is what problems call a list: its path from where that of the
// manifest starts.
func (e repoEntry) listName() string {
	name := e.target.S
	besideManifest := userfile.IsFile(filepath.Join(e.Src.Dir, filepath.Base(e.Src.Name)))
	if name == "-" || filepath.IsAbs(name) || !besideManifest {
		return name
	}
	return filepath.Join(filepath.Dir(e.Src.Name), name)
}
