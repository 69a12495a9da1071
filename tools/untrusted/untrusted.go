// Package untrusted knows whether the sessions of a job have read content that others have written, and what
// they may do since then. It decides no call, and closes nothing itself.
package untrusted

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/tool"
)

// Limits are the rights that are gone once untrusted content was read.
type Limits struct {
	Network, MCP, Bash bool
	Servers, Remote    []string // names of MCP servers, and of those of them that are reached over the network
	Source             string   // where they are defined
}

// rules returns the rules that deny what is gone.
func (l Limits) rules() (rules []permission.Rule) {
	deny := func(tool string) {
		rules = append(rules, permission.Rule{Permission: tool, Pattern: "*", Effect: permission.Deny, Source: l.Source})
	}
	if l.Network {
		for _, tool := range permission.NetworkTools() {
			deny(tool)
		}
		for _, server := range l.Remote {
			deny(server + "_*")
		}
	}
	if l.MCP {
		for _, server := range l.Servers {
			deny(server + "_*")
		}
	}
	if l.Bash {
		deny("bash")
	}
	return rules
}

// Mark is what a job has read first. Call and Tool are empty if it was in a prompt.
type Mark struct {
	Session, Call, Tool string
	Turn                int
	Why                 string
}

// Job is what the sessions of a job know. It is safe for concurrent use; nil means that nothing is untrusted.
type Job struct {
	Limits Limits
	// Files are the globs of untrusted files.
	Files []string
	// Marked is called once, with the first mark: before the call goes on that reads a file, and after one whose
	// result is from elsewhere.
	Marked func(Mark)
	// Find finds the untrusted files that are there now, and calls Found. It is called before each command, because an earlier one can
	// have made some; nil: they are known.
	Find func()

	mu      sync.Mutex
	mark    *Mark
	present bool   // the workspace has such files
	hidden  bool   // commands don't see them before the mark
	reached string // host that a command has connected to since the last call
}

// Found records whether the workspace has untrusted files, and whether commands can't see them before the mark.
func (j *Job) Found(present, hidden bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.present, j.hidden = present, hidden
}

// Reached records that a command has connected to a host.
func (j *Job) Reached(host string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reached = host
}

// takeReached returns the host that a command has connected to since the last time; "" for none.
func (j *Job) takeReached() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	host := j.reached
	j.reached = ""
	return host
}

// Mark marks the job, unless it is marked already.
func (j *Job) Mark(m Mark) {
	j.mu.Lock()
	first := j.mark == nil
	if first {
		j.mark = &m
	}
	j.mu.Unlock()
	if first && j.Marked != nil {
		j.Marked(m)
	}
}

// Restore marks a job that an earlier process has marked.
func (j *Job) Restore(m Mark) { j.mark = &m }

// Is reports whether the job is marked.
func (j *Job) Is() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mark != nil
}

// Armed reports whether a call may mark the job. Until then its calls run one after the other, so that each is
// decided with what the one before has read.
func (j *Job) Armed() bool { return j != nil && !j.Is() }

// Limited returns a profile without the rights that are gone.
func (j *Job) Limited(p permission.Profile) permission.Profile {
	if !j.Is() {
		return p
	}
	return j.Left(p)
}

// Left returns a profile with the rights that a mark leaves.
func (j *Job) Left(p permission.Profile) permission.Profile {
	if j.Limits.Network {
		p = p.Within("after_untrusted", permission.Network{})
	}
	return p.Narrowed("after_untrusted", j.Limits.rules())
}

// matcher returns a profile that bars the untrusted files.
func (j *Job) matcher() permission.Profile {
	var p permission.Profile
	for _, glob := range j.Files {
		p.Rules = append(p.Rules, permission.Protect(strings.Trim(strings.TrimPrefix(glob, "./"), "/"), ""))
	}
	return p
}

// Matches reports whether a file is untrusted, or all files of a directory, given by its names.
func (j *Job) Matches(names ...string) bool {
	if j == nil || len(j.Files) == 0 {
		return false
	}
	return matches(j.matcher(), names)
}

func matches(p permission.Profile, names []string) bool {
	for _, name := range names {
		name = strings.TrimSuffix(name, "/")
		if _, found := p.Bars(name); found || p.Locks(true, name) {
			return true
		}
	}
	return false
}

// Conceals returns which files searches don't show before the mark, given relative to the workspace; nil for none.
func (j *Job) Conceals() func(rel string) bool {
	if !j.Armed() || len(j.Files) == 0 {
		return nil
	}
	p := j.matcher()
	return func(rel string) bool { return matches(p, []string{rel}) }
}

// Before returns why a call reads untrusted content, or can, given its permissions and the further paths that it
// names; "" if it does not. A web page or a result is not read before the call ends, see After.
func (j *Job) Before(spec tool.Spec, p tool.Pending) string {
	if !j.Armed() || len(j.Files) == 0 {
		return ""
	}
	m := j.matcher()
	for _, n := range p.Needs {
		switch {
		case !permission.IsOfPaths(n.Permission):
		case matches(m, n.Subjects):
			return "untrusted file " + n.Subject()
		case n.Open != "":
			if from, _, _ := strings.Cut(n.Open, "\x00"); matches(m, []string{from + "x"}) {
				return "untrusted file " + n.Subject()
			}
		}
	}
	for _, name := range p.Names {
		if matches(m, []string{name}) {
			return "untrusted files of " + name
		}
	}
	if j.Find != nil && runsCommands(spec) {
		j.Find()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case spec.Name == "bash" && runsGit(p.Needs): // also those that are only in its history
		return "git shows untrusted files"
	case !j.present:
	case spec.Name == "lsp":
		return "the language server reads untrusted files"
	case !j.hidden && runsCommands(spec):
		return "commands can read untrusted files"
	}
	return ""
}

// runsCommands reports whether a tool runs a program in the sandbox of commands: bash, or a custom tool. One of an MCP server
// has a foreign result, which marks the job after the call.
func runsCommands(spec tool.Spec) bool {
	return spec.Name == "bash" || spec.Foreign == "" && !slices.Contains(permission.Tools(), spec.Name)
}

// runsGit reports whether a command line runs git. Nothing untrusted has influenced the line, so that it needs no
// protection from one that hides that.
func runsGit(needs []permission.Request) bool {
	for _, n := range needs {
		if n.Permission != "bash" {
			continue
		}
		for _, s := range n.Subjects {
			program, _, _ := strings.Cut(s, " ")
			if path.Base(program) == "git" {
				return true
			}
		}
	}
	return false
}

// After returns why the result of a call is untrusted, to which language servers may have added errors; "" if it is not.
func (j *Job) After(spec tool.Spec, m tool.Metadata, diagnosed bool) string {
	if !j.Armed() {
		return ""
	}
	reached := j.takeReached()
	switch {
	case spec.Foreign != "":
		return spec.Foreign
	case reached != "":
		return "connection to " + reached
	case j.Matches(m.Loaded...):
		return "untrusted instructions " + strings.Join(m.Loaded, ", ")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case !j.present:
	case spec.Extension != "":
		return "tool of " + spec.Extension + ", which can read untrusted files"
	case diagnosed:
		return "errors of the language server, which reads untrusted files"
	}
	return ""
}

// OfOutput returns why what a program of the manifest prints can be untrusted, such as a command or a hook; "" if it can't, or if no
// session is shown it.
func (j *Job) OfOutput(program string, shown bool) string {
	if !j.Armed() {
		return ""
	}
	reached := j.takeReached()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case !shown:
	case j.present:
		return "output of a " + program + " that can read untrusted files"
	case reached != "":
		return "output of a " + program + " that has connected to " + reached
	}
	return ""
}

// Reader is a session of a job.
type Reader struct {
	*Job
	Session string
	Turn    int // of the calls that run now
}

// Read marks the job with a call of the session; an empty reason does nothing.
func (r Reader) Read(call, tool, why string) {
	if why == "" {
		return
	}
	r.Mark(Mark{Session: r.Session, Call: call, Tool: tool, Turn: r.Turn, Why: why})
}
