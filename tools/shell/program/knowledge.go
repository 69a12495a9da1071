package program

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

//go:embed programs.txt
var programsText string

// knowledge is what programs.txt holds, by the names of programs and
// subcommands.
type knowledge struct {
	programs map[string]program
	wrappers map[string]wrapper
	managers map[string]manager
	git      map[string]subcommand

	dispatchers       names
	shells            names
	variables         names
	harmlessVariables names
	harmlessSettings  names
}

// table is what programs.txt holds, once it is needed.
var table struct {
	sync.Once
	knowledge
}

// programTable returns what programs.txt holds. The programs of a line that can't be
// parsed are unknown, and a test fails.
func programTable() *knowledge {
	table.Do(func() { table.knowledge, _ = parseKnowledge(programsText) })
	return &table.knowledge
}

// parseKnowledge reads lines of the form that programs.txt describes. The error
// joins those of all lines.
func parseKnowledge(text string) (knowledge, error) {
	k := knowledge{
		map[string]program{},
		map[string]wrapper{},
		map[string]manager{},
		map[string]subcommand{},
		names{},
		names{},
		names{},
		names{},
		names{},
	}
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := k.add(strings.Split(line, " | ")); err != nil {
			errs = append(errs, fmt.Errorf("programs.txt: line %d: %w", i+1, err))
		}
	}
	return k, errors.Join(errs...)
}

// add adds one line: a kind with names, and facts.
func (k *knowledge) add(fields []string) error {
	kind, list, _ := strings.Cut(fields[0], " ")
	lists := map[string]names{
		"dispatcher": k.dispatchers, "shell": k.shells, "variable": k.variables,
		"harmless-variable": k.harmlessVariables, "harmless-setting": k.harmlessSettings,
	}
	all, facts := strings.Fields(list), fields[1:]
	switch kind {
	case "program":
		return addTo(k.programs, kind, all, facts, (*program).set)
	case "wrapper":
		return addTo(k.wrappers, kind, all, facts, (*wrapper).set)
	case "manager":
		return addTo(k.managers, kind, all, facts, (*manager).set)
	case "git":
		return addTo(k.git, kind, all, facts, (*subcommand).set)
	}
	if lists[kind] == nil {
		return fmt.Errorf("unknown kind %q", kind)
	}
	for _, name := range all {
		lists[kind][name] = true
	}
	return nil
}

// addTo adds what facts say of all names.
func addTo[T any](to map[string]T, kind string, all, facts []string, set func(*T, string, string) error) error {
	for _, name := range all {
		if _, twice := to[name]; twice {
			return fmt.Errorf("duplicate %s %s", kind, name)
		}
		var one T
		for _, fact := range facts {
			key, value, _ := strings.Cut(fact, " ")
			if err := set(&one, key, value); err != nil {
				return err
			}
		}
		to[name] = one
	}
	return nil
}

// names is a list of names, in which * stands for the rest of a name.
type names map[string]bool

func (n names) has(name string) bool {
	for i := range len(name) + 1 {
		if n[name[:i]+"*"] {
			return true
		}
	}
	return n[name]
}

func (p *program) set(key, value string) (err error) {
	switch key {
	case "options":
		p.options = value
	case "use":
		p.use = value
		if !slices.Contains([]string{allRead, allWrite, lastWrite, firstWrite, oneWrite, onlyRead, onlyWrite}, value) {
			err = fmt.Errorf("unknown use %q", value)
		}
	case "skip":
		p.skip, err = strconv.Atoi(value)
	case "instead":
		p.instead = value
	case "changes":
		p.changes = value
	case "spares":
		p.spares = value
	case "makes":
		p.makes = value
	case "names":
		p.names = value
	case "hosts":
		p.hosts = true
	case "unknowable":
		p.unknowable = true
	case "code":
		if p.code = programParsers()[value]; p.code == nil {
			err = fmt.Errorf("unknown code %q", value)
		}
	default:
		err = fmt.Errorf("unknown fact %q", key)
	}
	return err
}

func (r *wrapper) set(key, value string) error {
	switch key {
	case "options":
		r.options = value
	case "before":
		r.before = value
	case "idle":
		r.idle = value
	case "assigns":
		r.assigns = true
	case "each":
		r.each = true
	case "starts":
		r.starts = true
	case "builtins":
		r.inShell = true
	case "permute":
		r.permute = true
	case "code":
		if r.code = wrapperParsers()[value]; r.code == nil {
			return fmt.Errorf("unknown code %q", value)
		}
	default:
		return fmt.Errorf("unknown fact %q", key)
	}
	return nil
}

// set sets one fact. What "runs" lists runs a command described by the facts
// after it that start with "runs-".
func (m *manager) set(key, value string) error {
	switch key {
	case "options":
		m.options = value
	case "first":
		m.first = true
	case "runs":
		m.runs = map[string]wrapper{}
		for sub := range strings.SplitSeq(value, ", ") {
			m.runs[sub] = wrapper{}
		}
	case "runs-options", "runs-permute", "runs-before":
		for sub, r := range m.runs {
			if err := r.set(strings.TrimPrefix(key, "runs-"), value); err != nil {
				return err
			}
			m.runs[sub] = r
		}
	case "scripts":
		m.scripts = value
	case "own":
		m.own = value
	case "behind":
		m.behind = true
	default:
		return fmt.Errorf("unknown fact %q", key)
	}
	return nil
}

func (s *subcommand) set(key, value string) (err error) {
	switch key {
	case "options":
		s.options = value
	case "first":
		s.first = true
	case "looks":
		s.looks = true
	case "files":
		if s.files = true; value != "" {
			s.file, err = strconv.Atoi(value)
		}
	case "writes":
		s.writes = true
	case "addresses":
		s.addresses = true
	case "unknowable":
		s.unknowable = true
	case "changes":
		s.changes = value
	case "when":
		s.when = value
	case "unless":
		s.unless = value
	case "operands":
		s.operands, err = strconv.Atoi(value)
	default:
		err = fmt.Errorf("unknown fact %q", key)
	}
	return err
}

// programParsers are the programs whose arguments need a parser of their own.
func programParsers() map[string]func(*effect.List, effect.Call, program) {
	return map[string]func(*effect.List, effect.Call, program){
		"awk": parseAwk, "chmod": parseChmod, "curl": parseCurl, "dd": parseDD, "fd": parseFd,
		"find": parseFind, "git": parseGit, "go": parseGo, "jq": parseJq, "ln": parseLn,
		"make": parseMake, "openssl": parseOpenSSL, "patch": parsePatch, "python": parsePython,
		"sed": parseSed, "tar": parseTar,
	}
}

// wrapperParsers find the commands of wrappers that need a parser of their own.
func wrapperParsers() map[string]func(*effect.List, effect.Call, word.Parsed) {
	return map[string]func(*effect.List, effect.Call, word.Parsed){
		"env": parseEnv, "flock": parseFlock, "parallel": parseParallel, "ssh": parseSSH, "su": parseSu,
		"sudo": parseSudo, "typescript": parseScript, "watch": parseWatch, "xargs": parseXargs,
	}
}
