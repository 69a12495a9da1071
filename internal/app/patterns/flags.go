package patterns

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/unidiff"
)

// Kind is why the changes of a job are listed for reading.
type Kind string

// Kinds, the most important first.
const (
	Unread       Kind = "unread"       // something could not be compared
	Tests        Kind = "tests"        // tests were removed or skipped
	Modes        Kind = "modes"        // permissions were widened
	Dependencies Kind = "dependencies" // a dependency is new
	Suppressions Kind = "suppressions" // a check was switched off
	Binary       Kind = "binary"       // binary content
	Conditions   Kind = "conditions"   // an operator or a constant was inverted, in few repositories
	Errors       Kind = "errors"       // an error is no longer handled, in few repositories
	Rare         Kind = "rare"         // a shape of fewer than 3 repositories
)

// lockfiles are files that package managers write, with the ones that they follow from.
var lockfiles = map[string]string{
	"go.sum": "go.mod", "go.work.sum": "go.work", "package-lock.json": "package.json", "npm-shrinkwrap.json": "package.json", "yarn.lock": "package.json",
	"pnpm-lock.yaml": "package.json", "bun.lock": "package.json", "bun.lockb": "package.json", "deno.lock": "deno.json", "Cargo.lock": "Cargo.toml", "poetry.lock": "pyproject.toml",
	"uv.lock": "pyproject.toml", "pdm.lock": "pyproject.toml", "Pipfile.lock": "Pipfile", "composer.lock": "composer.json", "Gemfile.lock": "Gemfile", "mix.lock": "mix.exs",
	"pubspec.lock": "pubspec.yaml", "packages.lock.json": "", "gradle.lockfile": "build.gradle", "Package.resolved": "Package.swift", "flake.lock": "flake.nix",
}

// manifest is how a file names dependencies: the first group of the expression that
// matched is the name.
type manifest struct {
	files *regexp.Regexp
	line  *regexp.Regexp
}

var manifests = sync.OnceValue(func() []manifest {
	return []manifest{
		{regexp.MustCompile(`^go\.(?:mod|work)$`), regexp.MustCompile(`^\s*(?:require\s+|replace\s+|use\s+|tool\s+)?([^\s()]+\.[^\s()]+)\s+(?:v\d|=>)|^\s*(?:use|tool)\s+([^\s()]+)$|=>\s*(\S+)`)},
		{regexp.MustCompile(`^(?:package|composer|deno)\.jsonc?$`), regexp.MustCompile(`^\s*"([^"]+)"\s*:\s*"(?:[~^<>=v*\s]*\d[^"/\\ ]*(?:\s*(?:\|\||-|<|>)[^"]*)?|\*|latest|next|(?:npm|jsr|workspace|file|lin[k]|git|github|git\+\w+|https?):[^"]*|dev-\w+|@\w+)"`)},
		{regexp.MustCompile(`(?i)^(?:.*requirements.*|constraints.*)\.(?:txt|in)$`), regexp.MustCompile(`^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~@;#].*)?$|^\s*(-e\s+\S+|git\+\S+|https?://\S+)`)},
		{regexp.MustCompile(`^(?:pyproject\.toml|setup\.(?:py|cfg)|Pipfile)$`), regexp.MustCompile(`^[\s\w"=\[]*?["']([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*[=<>!~]=?[^"']*["']|^\s*([A-Za-z][\w.-]*)\s*=\s*(?:["'](?:[\^~>=<*]|\d+\.)|\{[^}]*\b(?:version|git|path|url)\b)|^\s+["']?([A-Za-z][\w.-]*)\s*(?:[=<>!~]=\s*\S+)?["']?,?$`)},
		{regexp.MustCompile(`^Cargo\.toml$`), regexp.MustCompile(`^\s*([A-Za-z][\w-]*)\s*=\s*(?:"[\^~=<>*]?\s*\d|\{.*\b(?:version|git|path|workspace)\b)|^\s*([A-Za-z][\w-]*)\.workspace\s*=|^\s*\[(?:.*\.)?(?:dev-|build-)?dependencies\.([\w-]+)\]`)},
		{regexp.MustCompile(`^(?:pom\.xml|.*\.pom)$`), regexp.MustCompile(`<artifactId>\s*([^<\s]+)\s*</artifactId>`)},
		{regexp.MustCompile(`\.gradle(?:\.kts)?$|^libs\.versions\.toml$`), regexp.MustCompile(`\b(?:\w*[iI]mplementation|\w*[cC]ompileOnly|\w*[rR]untimeOnly|api|classpath|kapt|ksp|annotationProcessor|compile|platform|id)\b[\s(]*(?:platform\()?["']([^"':]+(?::[^"':]+)?)|^\s*([\w-]+)\s*=\s*\{.*\b(?:module|group)\b|\b(?:\w*[iI]mplementation|api)\b[\s(]*(libs\.[\w.]+)`)},
		{regexp.MustCompile(`^Gemfile$|\.gemspec$`), regexp.MustCompile(`\b(?:gem|add_(?:runtime_|development_)?dependency)[\s(]+["']([^"']+)`)},
		{regexp.MustCompile(`\.(?:cs|fs|vb)proj$|^Directory\.(?:Packages|Build)\.props$|^packages\.config$`), regexp.MustCompile(`<(?:PackageReference|PackageVersion|package|ProjectReference)\b[^>]*\b(?:Include|id)\s*=\s*"([^"]+)"`)},
		{regexp.MustCompile(`^pubspec\.yaml$`), regexp.MustCompile(`^\s{2,}([a-z]\w*):\s*(?:[\^~>=<"']|\d|any|$)`)},
		{regexp.MustCompile(`^mix\.exs$`), regexp.MustCompile(`\{\s*:(\w+)\s*,`)},
		{regexp.MustCompile(`^Package\.swift$`), regexp.MustCompile(`\.package\([^)]*\burl:\s*"([^"]+)"`)},
		{regexp.MustCompile(`^(?:.*\.)?(?:Docker|Container)file(?:\..*)?$`), regexp.MustCompile(`(?i)^\s*FROM\s+(?:--\S+\s+)*([^\s:@]+)`)},
		{regexp.MustCompile(`^\.gitmodules$`), regexp.MustCompile(`^\s*url\s*=\s*(\S+)`)},
		{regexp.MustCompile(`^\.pre-commit-config\.ya?ml$`), regexp.MustCompile(`^\s*-?\s*repo:\s*(\S+)`)},
	}
})

// workflowLine names an action of a workflow.
var workflowLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*-?\s*uses:\s*["']?([^\s@"']+)`) })

// notDependencies are keys of package.json whose values look like versions.
var notDependencies = []string{"version", "node", "npm", "yarn", "pnpm", "name", "license", "main", "types", "module", "type", "packageManager", "php", "python", "requires-python", "edition", "rust-version", "target", "description"}

// dependencyLine returns the expression of the lines of a file that name dependencies; nil
// if it has none.
func dependencyLine(file string) *regexp.Regexp {
	base := path.Base(file)
	for _, m := range manifests() {
		if m.files.MatchString(base) {
			return m.line
		}
	}
	if strings.Contains("/"+file, "/.github/workflows/") || base == "action.yml" || base == "action.yaml" {
		return workflowLine()
	}
	return nil
}

// dependency returns the name of a dependency in a line; empty for none.
func dependency(line string, expr *regexp.Regexp) string {
	for i, name := range expr.FindStringSubmatch(line) {
		if i > 0 && name != "" && !slices.Contains(notDependencies, name) {
			return name
		}
	}
	return ""
}

var (
	octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b0o?[0-7]{3,4}\b`) })
	chmod = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bchmod\b[^;&|\n]*?\s(0?[0-7]{3,4}|[ugoa,]*\+[rwxstugoaX,+]+)(?:\s|$)`)
	})
	anyMode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:os|fs)\.ModePerm\b|\bS_IRWXO\b|\bS_IWOTH\b`) })
)

// permissions returns the permissions that lines mention, as bits.
func permissions(lines []string) (bits []int) {
	for _, line := range lines {
		if strings.Contains(line, "0") {
			for _, m := range octal().FindAllString(line, -1) {
				n, _ := strconv.ParseInt(strings.TrimLeft(m, "0o"), 8, 32)
				bits = append(bits, int(n))
			}
		}
		if strings.Contains(line, "chmod") {
			if m := chmod().FindStringSubmatch(line); m != nil && !octal().MatchString(m[1]) {
				bits = append(bits, symbolic(m[1]))
			}
		}
		if (strings.Contains(line, "ModePerm") || strings.Contains(line, "S_I")) && anyMode().MatchString(line) {
			bits = append(bits, 0o777)
		}
	}
	return bits
}

// symbolic returns the bits that an argument of chmod adds.
func symbolic(s string) int {
	if n, err := strconv.ParseInt(s, 8, 32); err == nil {
		return int(n)
	}
	who, what, _ := strings.Cut(s, "+")
	bits := 0
	for i, c := range "xwr" {
		if !strings.ContainsRune(what, c) {
			continue
		}
		for k, class := range "ogu" {
			if who == "" || strings.ContainsAny(who, string(class)+"a") {
				bits |= 1 << (i + 3*k)
			}
		}
	}
	if strings.ContainsAny(what, "st") {
		bits |= 0o4000
	}
	return bits
}

// widened returns how a block widens permissions; empty if it does not.
func widened(b *block) string {
	before, after := permissions(b.old), permissions(b.new)
	for i := 0; i < len(after); {
		if k := slices.Index(before, after[i]); k >= 0 {
			before, after = slices.Delete(before, k, k+1), slices.Delete(after, i, i+1)
			continue
		}
		i++
	}
	for i, mode := range after {
		switch {
		case i < len(before) && mode&^before[i] != 0:
			return modeText(before[i]) + " → " + modeText(mode)
		case i >= len(before) && mode&0o7022 != 0:
			return "permissions " + modeText(mode)
		}
	}
	return ""
}

func modeText(bits int) string { return "0" + strconv.FormatInt(int64(bits), 8) }

// widenedFile returns how the mode of a file was widened; empty if it was not.
func widenedFile(f *unidiff.File) string {
	switch {
	case f.Deleted || f.Mode == "" || f.Mode == "100644":
		return ""
	case f.Mode == "120000":
		return "symlink"
	case f.Mode == "160000":
		return "submodule"
	case f.Created:
		return "new file with mode " + f.Mode
	}
	return "mode " + f.OldMode + " → " + f.Mode
}

var errorName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:err|error|exc|exception|e|ex)$|[a-z](?:Err|Error)$|^err[A-Z0-9]|_err(?:or)?$`)
})

// inverses are tokens that invert a condition if one replaces another.
var inverses = []string{"==", "!=", "===", "!==", "<", ">", "<=", ">=", "&&", "||", "true", "false", "True", "False", "and", "or", "is"}

// risk returns why an edit needs reading if few repositories have it; empty for no reason.
func (e *edit) risk() (Kind, string) {
	single := func(list []token, of []string) bool { return len(list) == 1 && slices.Contains(of, list[0].text) }
	negation := []string{"!", "not"}
	switch {
	case single(e.old, inverses) && single(e.new, inverses):
		return Conditions, "changed " + e.old[0].text + " to " + e.new[0].text
	case len(e.old) == 0 && single(e.new, negation):
		return Conditions, "added " + e.new[0].text
	case len(e.new) == 0 && single(e.old, negation):
		return Conditions, "removed " + e.old[0].text
	}
	before, after := count(e.old, isError), count(e.new, isError)
	if before <= after {
		return "", ""
	}
	blank := func(t token) bool { return t.text == "_" || t.text == "pass" }
	handles := func(t token) bool {
		return slices.Contains([]string{"if", "except", "catch", "raise", "throw", "panic", "return"}, t.text)
	}
	if count(e.new, blank) > count(e.old, blank) || len(e.new) == 0 && count(e.old, handles) > 0 {
		return Errors, "an error is no longer handled"
	}
	return "", ""
}

func isError(t token) bool { return t.kind == nameKind && errorName().MatchString(t.text) }

func count(tokens []token, match func(token) bool) (n int) {
	for _, t := range tokens {
		if match(t) {
			n++
		}
	}
	return n
}
