package jshost

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/millhand/millhand/internal/files/pathtree"
)

// hostFiles are the program of the process, and what tool files can import without installing it.
//
//go:embed host
var hostFiles embed.FS

//go:generate sh generate.sh

// Entry is a tool file or a plugin.
type Entry struct {
	Path string // absolute
	Name string // in the manifest: the plugin's, or the file's
}

// Workspace limits what files of a job's repository import.
type Workspace struct {
	Dir string // real path
	// Read returns a file as of the job's base commit, by its path with slashes. It fails for
	// files that the commit does not have.
	Read func(name string) ([]byte, error)
}

// Program is the result of [Compile]: files by name, for one directory.
type Program struct {
	Files   map[string][]byte
	Modules []string // the file of each entry
	// Packages are the directories of installed packages that the entries belong to or import: they
	// may read data files of theirs.
	Packages []string
}

// provided are the modules that the process provides, by what files import.
var provided = map[string]string{
	"@opencode-ai/plugin": "./plugin.mjs", "@opencode-ai/plugin/tool": "./plugin.mjs",
	"zod": "./zod.mjs", "zod/v4": "./zod.mjs",
}

// Compile makes modules for Node and Bun of tool files and plugins. What several of them import
// exists once. The error lists all that is wrong, with file and line.
func Compile(entries []Entry, ws *Workspace) (*Program, error) {
	c := compiler{ws: ws, packages: map[string]bool{}}
	var points []api.EntryPoint
	for i, e := range entries {
		points = append(points, api.EntryPoint{InputPath: e.Path, OutputPath: fmt.Sprintf("entry%d", i)})
	}
	first := ""
	if len(entries) > 0 {
		first = fileURL(entries[0].Path)
	}
	res := api.Build(api.BuildOptions{
		EntryPointsAdvanced: points, Bundle: true, Splitting: true, Format: api.FormatESModule, Platform: api.PlatformNode, Target: api.ES2023,
		AbsWorkingDir: "/", Outdir: "/", LogLevel: api.LogLevelSilent, OutExtension: map[string]string{".js": ".mjs"}, ChunkNames: "chunk-[hash]",
		Sourcemap: api.SourceMapLinked, SourceRoot: "file:///", SourcesContent: api.SourcesContentExclude,
		Define: map[string]string{
			"import.meta.url": "__millhand_url", "import.meta.dirname": "__millhand_dir", "import.meta.dir": "__millhand_dir",
			"import.meta.filename": "__millhand_file", "import.meta.path": "__millhand_file",
			"__dirname": "__millhand_dir", "__filename": "__millhand_file",
		},
		Banner: map[string]string{"js": `import { createRequire as __millhand_require } from "node:module"; const require = __millhand_require(` + quote(first) + `);`},
		Plugins: []api.Plugin{{Name: "millhand", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) { return c.resolve(b, a) })
			b.OnLoad(api.OnLoadOptions{Filter: `\.[cm]?[jt]sx?$`, Namespace: "file"}, c.load)
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, c.loadOther)
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: standIns}, loadStandIn)
		}}},
	})
	if len(res.Errors) > 0 {
		return nil, problems(res.Errors)
	}
	p := &Program{Files: map[string][]byte{}}
	for _, f := range res.OutputFiles {
		p.Files[filepath.Base(f.Path)] = f.Contents
	}
	for i := range entries {
		p.Modules = append(p.Modules, fmt.Sprintf("entry%d.mjs", i))
	}
	p.Packages = packageDirs(c.packages)
	return p, p.addHost()
}

// addHost adds the program of the process.
func (p *Program) addHost() error {
	files, err := hostFiles.ReadDir("host")
	if err != nil {
		return fmt.Errorf("read the host's program: %w", err)
	}
	for _, f := range files {
		data, err := hostFiles.ReadFile(path.Join("host", f.Name()))
		name, compressed := strings.CutSuffix(f.Name(), ".gz")
		if err == nil && compressed {
			data, err = gunzip(data)
		}
		if err != nil {
			return fmt.Errorf("read the host's program: %w", err)
		}
		p.Files[name] = data
	}
	return nil
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// compiler is the state of one Compile.
type compiler struct {
	ws *Workspace

	mu       sync.Mutex
	packages map[string]bool // by directory, of the files that were read
}

// resolving marks a resolution that this package began itself.
type resolving struct{}

// resolve finds an imported file: beside the importing one, as Node does, or among the modules that
// the process provides.
func (c *compiler) resolve(b api.PluginBuild, a api.OnResolveArgs) (api.OnResolveResult, error) {
	if _, own := a.PluginData.(resolving); own || a.Kind == api.ResolveEntryPoint {
		return api.OnResolveResult{}, nil
	}
	if a.Path == "bun" || a.Namespace == standIns {
		return resolveStandIn(a), nil
	}
	shim, isProvided := provided[a.Path]
	if isProvided && !strings.HasPrefix(a.Path, "zod") {
		return api.OnResolveResult{Path: shim, External: true}, nil
	}
	found := b.Resolve(a.Path, api.ResolveOptions{Importer: a.Importer, ResolveDir: a.ResolveDir, Kind: a.Kind, Namespace: a.Namespace, PluginData: resolving{}})
	switch {
	case len(found.Errors) > 0 && isProvided:
		return api.OnResolveResult{Path: shim, External: true}, nil
	case len(found.Errors) > 0 && (strings.HasPrefix(a.Path, "bun:") || isVersion2(a.Path)):
		return resolveStandIn(a), nil
	case len(found.Errors) > 0:
		text := found.Errors[0].Text
		if a.Path != "" && !strings.ContainsAny(a.Path[:1], "./") {
			text = fmt.Sprintf("package %q was not found; install it beside the file: millhand installs nothing", a.Path)
		}
		return api.OnResolveResult{Errors: []api.Message{{Text: text}}}, nil
	case found.External:
		return api.OnResolveResult{Path: found.Path, External: true}, nil
	case c.ws != nil && pathtree.Within(a.Importer, c.ws.Dir) && !pathtree.Within(found.Path, c.ws.Dir):
		return api.OnResolveResult{Errors: []api.Message{{Text: fmt.Sprintf("%q is outside of the repository", a.Path)}}}, nil
	case strings.HasSuffix(found.Path, ".node"):
		return api.OnResolveResult{Path: found.Path, External: true}, nil
	}
	return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, Suffix: found.Suffix, PluginData: found.PluginData}, nil
}

// read returns a file. Files of the workspace are those of the base commit, because the agent may
// have changed them; what setup commands installed does not belong to it.
func (c *compiler) read(name string) (string, error) {
	if c.ws != nil && pathtree.Within(name, c.ws.Dir) && !strings.Contains(name, "/node_modules/") {
		rel, err := filepath.Rel(c.ws.Dir, name)
		if err != nil {
			return "", err
		}
		data, err := c.ws.Read(filepath.ToSlash(rel))
		return string(data), err
	}
	data, err := os.ReadFile(name)
	if dir, ok := packageOf(name); ok && err == nil {
		c.mu.Lock()
		c.packages[dir] = true
		c.mu.Unlock()
	}
	return string(data), err
}

// load returns a script, in which the location is that of the file.
func (c *compiler) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := c.read(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	if strings.Contains(text, "import.meta") || strings.Contains(text, "__dirname") || strings.Contains(text, "__filename") {
		head := fmt.Sprintf("const __millhand_url = %s, __millhand_dir = %s, __millhand_file = %s;", quote(fileURL(a.Path)), quote(filepath.Dir(a.Path)), quote(a.Path))
		if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, "#!") {
			text = line + "\n" + head + rest
		} else {
			text = head + text
		}
	}
	return api.OnLoadResult{Contents: &text, ResolveDir: filepath.Dir(a.Path), Loader: loaders[filepath.Ext(a.Path)]}, nil
}

var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS, ".jsx": api.LoaderJSX,
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
}

// loadOther returns a file that is not a script.
func (c *compiler) loadOther(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := c.read(a.Path)
	loader := api.LoaderText
	if filepath.Ext(a.Path) == ".json" {
		loader = api.LoaderJSON
	}
	return api.OnLoadResult{Contents: &text, ResolveDir: filepath.Dir(a.Path), Loader: loader}, err
}

// problems returns the errors of a build as one.
func problems(all []api.Message) error {
	var errs []error
	for _, m := range all {
		text := m.Text
		if l := m.Location; l != nil {
			text = fmt.Sprintf("/%s:%d:%d: %s", l.File, l.Line, l.Column+1, text)
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

func fileURL(name string) string { return (&url.URL{Scheme: "file", Path: name}).String() }

// quote returns a string of JavaScript.
func quote(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
	return string(text)
}
