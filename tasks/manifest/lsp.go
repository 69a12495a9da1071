package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// LanguageServer is a language server while it is read.
type LanguageServer struct {
	tasks.LanguageServer
	Written        Process
	initialization map[string]any
	disabled       bool
}

// diagnostics is when errors are reported to models.
type diagnostics struct {
	When string // "" if it is not set
	Wait time.Duration
}

// DefaultWait and maxWait are for diagnostics; an edit may wait twice that long.
const (
	DefaultWait = 3 * time.Second
	maxWait     = 20 * time.Second
)

var (
	lspForm        = form.Of[[]form.Definition[LanguageServer]]{Type: form.Type{Name: "boolean", Or: new(form.Type{Name: "map", Names: "NAME", Elem: new(form.TypeOf((*LanguageServer).keys))})}, Read: readLSP}
	extensionForm  = form.Of[string]{Type: form.Type{Name: "string"}, Read: readExtension}
	initializeForm = form.Of[map[string]any]{Type: form.Type{Name: "mapping"}, Read: readInitialization}
	waitForm       = form.Of[time.Duration]{Type: form.Duration.Type, Read: readWait}
)

// knownServer is a language server that a manifest can name without stating its program.
type knownServer struct {
	name           string
	command        string // program and arguments, separated by spaces
	extensions     string // likewise
	cache          string
	initialization map[string]any
}

// knownServers are those that lsp: true uses, with the names that OpenCode gives them. gopls
// reports errors in other packages only after a pause, by default one of a second;
// typescript-language-server would try to download types.
func knownServers() []knownServer {
	return []knownServer{
		{"gopls", "gopls", ".go", "go", map[string]any{"diagnosticsDelay": "10ms"}},
		{"typescript", "typescript-language-server --stdio", ".ts .tsx .js .jsx .mts .cts .mjs .cjs", "", map[string]any{"disableAutomaticTypingAcquisition": true}},
		{"pyright", "pyright-langserver --stdio", ".py .pyi", "", nil},
		{"rust", "rust-analyzer", ".rs", "cargo", nil},
		{"clangd", "clangd", ".c .cc .cpp .cxx .h .hh .hpp .hxx", "", nil},
		{"ruby-lsp", "ruby-lsp", ".rb .rake .gemspec .ru", "", nil},
		{"jdtls", "jdtls", ".java", "maven", nil},
		{"zls", "zls", ".zig .zon", "", nil},
		{"lua-ls", "lua-language-server", ".lua", "", nil},
		{"php", "intelephense --stdio", ".php", "", nil},
		{"dart", "dart language-server --lsp", ".dart", "", nil},
		{"gleam", "gleam lsp", ".gleam", "", nil},
		{"ocaml-lsp", "ocamllsp", ".ml .mli", "", nil},
		{"terraform", "terraform-ls serve", ".tf .tfvars", "", nil},
		{"nixd", "nixd", ".nix", "", nil},
	}
}

// knownServerOf finds a known server by its name or that of its program.
func knownServerOf(name string) (knownServer, bool) {
	all := knownServers()
	i := slices.IndexFunc(all, func(k knownServer) bool {
		return k.name == name || strings.Fields(k.command)[0] == name
	})
	if i < 0 {
		return knownServer{}, false
	}
	return all[i], true
}

// KnownLanguageServer reports whether a manifest can name a language server without stating its
// program and extensions.
func KnownLanguageServer(name string) bool {
	_, ok := knownServerOf(name)
	return ok
}

// readLSP reads the language servers of a manifest.
func readLSP(v form.Value) ([]form.Definition[LanguageServer], bool) {
	if v.IsBoolean() {
		on, ok := form.ReadBool(v)
		if !on || v.Refused(policy.Extensions, "language servers", "lsp") {
			return nil, ok
		}
		var all []form.Definition[LanguageServer]
		for _, k := range knownServers() {
			s := LanguageServer{LanguageServer: tasks.LanguageServer{Name: k.name, IfFound: true}}
			all = append(all, s.define(v, k))
		}
		return all, true
	}
	var all []form.Definition[LanguageServer]
	entries, ok := v.Entries()
	for _, e := range entries {
		name := e.Key.Value
		switch {
		case !serverName().MatchString(name):
			e.KeyProblem("invalid server name "+problem.Quote(name), "use up to 32 letters, digits, _ and -, starting with a letter or digit")
		case e.Refused(policy.Extensions, "the language server "+problem.Quote(name), name):
		default:
			if d, ok := readLanguageServer(e); ok {
				all = append(all, d)
			}
		}
	}
	return all, ok
}

func readLanguageServer(v form.Value) (form.Definition[LanguageServer], bool) {
	s := LanguageServer{LanguageServer: tasks.LanguageServer{Name: v.Key.Value}}
	s.keys().Read(v)
	if !v.IsMapping() {
		return form.Definition[LanguageServer]{}, false
	}
	k, _ := knownServerOf(s.Name)
	if s.Written.program.Args == nil && k.command == "" {
		v.Lacks("command", "add command: [PROGRAM]")
	}
	if s.Extensions == nil && k.extensions == "" {
		v.Lacks("extensions", "add for example extensions: [.go]")
	}
	return s.define(v, k), !s.disabled
}

// define completes a server with what is known of it.
func (s LanguageServer) define(v form.Value, k knownServer) form.Definition[LanguageServer] {
	if s.Written.program.Args == nil {
		s.Written.program.Args = strings.Fields(k.command)
		s.Written.program.Written = s.Written.program.Args
	}
	if s.Extensions == nil {
		s.Extensions = strings.Fields(k.extensions)
	}
	if s.initialization == nil {
		s.initialization = k.initialization
	}
	if _, refused := v.Src.Policies.Refuses(policy.Cache, k.cache); s.Written.cache == nil && k.cache != "" && !refused {
		s.Written.cache = &[]string{k.cache}
	}
	s.Process = s.Written.read()
	if s.initialization != nil {
		s.Initialization, _ = json.Marshal(s.initialization)
	}
	content := tasks.Digest(s.Written.digest(), s.Extensions, string(s.Initialization), s.IfFound)
	return form.Definition[LanguageServer]{Value: v, Title: "language server " + problem.Quote(s.Name), Digest: content, Paths: s.Written.paths(), Is: s}
}

// fileExtension is the form of an extension of file names.
var fileExtension = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.[A-Za-z0-9_+.-]{1,30}$`)
})

func readExtension(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if ok && !fileExtension().MatchString(t.S) {
		v.Problem("invalid extension "+problem.Quote(t.S), "write it with its dot, such as .go")
		return "", false
	}
	return t.S, ok
}

// readInitialization reads what a server gets as its options.
func readInitialization(v form.Value) (map[string]any, bool) {
	if !v.IsMapping() {
		v.Wrong("a mapping", "write KEY: VALUE")
		return nil, false
	}
	doc, ok := v.JSON()
	options, _ := doc.(map[string]any)
	if data, err := json.Marshal(options); err != nil || len(data) > form.MaxSchema {
		v.Problem("initialization exceeds 64 KiB", "make it smaller")
		return nil, false
	}
	return options, ok
}

func readWait(v form.Value) (time.Duration, bool) {
	d, ok := form.ReadDuration(v)
	if d > maxWait {
		v.Problem(fmt.Sprintf("wait must be at most %s", maxWait), "write for example 3s")
		return 0, false
	}
	return d, ok
}

// keys have OpenCode's names, except those for access.
func (s *LanguageServer) keys() form.Table {
	return form.Table{
		{Name: "command", Field: form.Into(&s.Written.program, programs.Argv), Doc: "Program and arguments (required for servers that are not known); runs in the workspace, which it can't change, without network"},
		{Name: "extensions", Field: form.Into(&s.Extensions, form.UpTo(maxHeaders, form.ListOf(extensionForm))), Doc: "Extensions of the files that it is for (required for servers that are not known)"},
		{Name: "env", Field: form.Into(&s.Written.Environment, environmentForm), Doc: "Environment variables of the process, as in mcp"},
		{Name: "initialization", Field: form.Into(&s.initialization, initializeForm), Doc: "Options that the server gets at its start"},
		{Name: "disabled", Field: form.Into(&s.disabled, form.Bool), Def: "false", Doc: "Leave the server out"},
		{Name: "cache", Field: form.Into(&s.Written.cache, profiles.Cache), Doc: "Caches of the user whose downloads it may read, as in a profile (none for servers that are not known)"},
		{Name: "read", Field: form.Into(&s.Written.reads, form.UpTo(maxHeaders, form.ListOf(processPathForm))), Doc: "Other paths that it may read, relative to the manifest"},
		{Name: "write", Field: form.Into(&s.Written.writes, form.UpTo(maxHeaders, form.ListOf(processPathForm))), Doc: "Paths outside of the workspace that it may write, relative to the manifest"},
	}
}

func (d *diagnostics) keys() form.Table {
	return form.Table{
		{Name: "when", Field: form.Into(&d.When, form.Enum("edit", "off")), Def: "edit", Doc: "edit: the result of an edit ends with the errors that are new after it; off: never"},
		{Name: "wait", Field: form.Into(&d.Wait, waitForm), Def: "3s", Doc: "How long an edit waits for them, up to 20s"},
	}
}
