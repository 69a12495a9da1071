package manifest

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

// DefaultLimits returns the limits of a job whose manifest sets none. Cost,
// tokens and memory have no default.
func DefaultLimits() tasks.Limits { return form.WithDefaults(limitKeys) }

// MaxParallel is the maximum number of jobs that run concurrently.
const MaxParallel = 256

// Manifest is one file as it is written, with what can be said about it
// without the other files and the command line.
type Manifest struct {
	form.Value
	lists             *repolist.Lists
	Name              string
	Models            ModelChain
	Sampling          tasks.Sampling
	Profile           *form.Text
	Limits            tasks.Limits
	Budget            tasks.Budget
	Parallel          int // 0: not set
	Clones            int // 0: not set
	Vars              map[string]string
	Profiles          *profiles.Set
	Repos             repolist.List
	Tasks             []*Task
	AllowDirty        bool
	AllowUnknownPrice bool
	Unknown           form.Value // of allow_unknown_price
	Instructions      []tasks.Instruction
	Instructed        string // a digest of the instructions
	Prices            []Price
	Agents            []*Agent // those of agentFiles too
	AgentFiles        []*Agent
	Commands          []*commandFile
	Providers         []form.Definition[Provider]
	forges            []form.Definition[tasks.Forge]
	Search            []form.Definition[tasks.Search] // at most one
	Tools             []form.Definition[tasks.CustomTool]
	Servers           []form.Definition[MCPServer]
	ToolFiles         []form.Definition[tasks.ScriptFile]
	Plugins           []form.Definition[tasks.ScriptFile]
	Scripts           []form.Definition[Scripts] // at most one
	Hooks             []form.Definition[Hook]
	LanguageServers   []form.Definition[LanguageServer]
	Diagnostics       diagnostics
	Rollout           *Rollout
	Skills            []SkillDir
	Batch             bool
	Follow            *tasks.Follow // nil without it
	Output            tasks.OutputLimits
	Evidence          tasks.Evidence
	Proof             form.Value // of evidence
}

// Price is the price of a model in a manifest.
type Price struct {
	form.Value
	money.Price
	Model string
	tiers []tier
}

// readManifest reads a manifest. References between its parts, other manifests
// and the command line are checked later.
func readManifest(v form.Value, l *repolist.Lists) *Manifest {
	m := &Manifest{Value: v, lists: l, Profiles: profiles.NewSet()}
	m.Keys().Read(v)
	v.Src.NotePassedOver()
	m.Agents = append(m.Agents, laterFiles(m.AgentFiles)...)
	m.Instructions = onlyOnce(v, m.Instructions)
	m.Instructed = tasks.Digest(m.Instructions)
	for _, t := range m.Tasks {
		t.Manifest = m
		t.resolveCommand()
	}
	return m
}

var versionForm = form.Of[int]{Type: form.Type{Name: "integer", Min: 1, Max: 1}, Read: readVersion}

// readVersion accepts the only version of the format.
func readVersion(v form.Value) (int, bool) {
	isInt := v.IsScalar() && v.Node.ShortTag() == "!!int"
	switch {
	case isInt && v.Node.Value == "1":
		return 1, true
	case isInt:
		v.Problem("version "+v.Node.Value+" is not supported", "write version: 1")
	default:
		v.Wrong("the number 1", "write version: 1")
	}
	return 0, false
}

// leastProcesses is what one command in the sandbox needs.
const leastProcesses = 16

// LimitsOver returns l with the gaps filled from base.
func LimitsOver(l tasks.Limits, base tasks.Limits) tasks.Limits {
	return tasks.Limits{
		Turns:    cmp.Or(l.Turns, base.Turns),
		CostUSD:  cmp.Or(l.CostUSD, base.CostUSD),
		Time:     cmp.Or(l.Time, base.Time),
		Tokens:   cmp.Or(l.Tokens, base.Tokens),
		Denials:  cmp.Or(l.Denials, base.Denials),
		Failures: cmp.Or(l.Failures, base.Failures),

		Disk:      cmp.Or(l.Disk, base.Disk),
		Memory:    cmp.Or(l.Memory, base.Memory),
		Processes: cmp.Or(l.Processes, base.Processes),
	}
}

var varsForm = form.MapOf("NAME", form.ScalarType(), readVars)

// readVars reads variables. They may be numbers and booleans too, and are texts
// spelt as in the file.
func readVars(v form.Value) (map[string]string, bool) {
	vars := map[string]string{}
	entries, ok := v.Entries()
	for _, e := range entries {
		if t, ok := e.Scalar(); ok && e.Named() {
			vars[e.Key.Value] = t.S
		}
	}
	return vars, ok
}

var pricesForm = form.MapOf("MODEL", form.TypeOf((*Price).keys), readPrices)

// readPrices reads prices of models.
func readPrices(v form.Value) ([]Price, bool) {
	var all []Price
	entries, ok := v.Entries()
	for _, e := range entries {
		p := Price{Value: e, Model: e.Key.Value}
		got := p.keys().Read(e)
		given := p.Rates
		p.Rates = prices.Rates(p.Model, p.Input, p.Output)
		if _, ok := got["cache_read"]; ok {
			p.CacheRead = given.CacheRead
		}
		if _, ok := got["cache_write"]; ok {
			p.Rates = p.WithCache(nil, &given.CacheWrite)
		}
		p.Tiers = filledTiers(p.Model, p.tiers)
		all = append(all, p)
	}
	return all, ok
}

// BaseName is what a plan without a name is called.
func BaseName(path string) string {
	if path == "-" {
		return "stdin"
	}
	return filepath.Base(path)
}

// Keys are the keys of a manifest, which set its fields.
func (m *Manifest) Keys() form.Table {
	return append(form.Table{
		{Name: "version", Field: form.Required("version: 1", form.Checked(versionForm)), Doc: "Version of the manifest format, a file of at most 1 MiB"},
		{Name: "name", Field: form.Into(&m.Name, form.String), Doc: "Name of the run in reports (the first manifest's file name if absent)"},
		{Name: "model", Field: form.Into(&m.Models, modelsForm), Doc: "Model as PROVIDER/MODEL, script:FILE or replay:FILE, or a list of up to 10 whose later entries are fallbacks"},
		{Name: "profile", Field: form.Into(&m.Profile, form.Optional(form.Filled)), Def: "readonly", Doc: "Profile of all tasks: a preset (readonly, review, edit, build, full) or a name under profiles"},
		{Name: "limits", Field: form.Into(&m.Limits, form.Mapping(limitKeys)), Doc: "Limits of each job"},
		{Name: "budget", Field: form.Into(&m.Budget, form.Mapping(budgetKeys)), Doc: "Limits of the run"},
		{Name: "jobs", Field: form.Into(&m.Parallel, form.Between(1, MaxParallel)), Def: "1", Doc: "Number of jobs that run concurrently"},
		{Name: "clones", Field: form.Into(&m.Clones, form.Between(1, MaxParallel)), Def: "4", Doc: "Number of repositories that are fetched concurrently"},
		{Name: "vars", Field: form.Into(&m.Vars, varsForm), Doc: "Variables for ${{ vars.NAME }}"},
		{Name: "profiles", Field: form.Into(&m.Profiles, profiles.Form), Doc: "Permission profiles by name"},
		{Name: "repos", Field: form.Into(&m.Repos, m.lists.Form()), Doc: "Repositories that tasks run on (the current repository if absent)"},
		{Name: "tasks", Field: form.Into(&m.Tasks, form.UpTo(tasks.MaxJobs, form.ListOf(taskForm(m.lists)))), Doc: "Tasks to run, at least one"},
		{Name: "allow_dirty", Field: form.Into(&m.AllowDirty, form.Bool), Def: "false", Doc: "Accept uncommitted changes in repositories that are changed in place"},
		{Name: "allow_unknown_price", Field: form.Noting(&m.Unknown, form.Into(&m.AllowUnknownPrice, form.Bool)), Def: "false", Doc: "Accept models without a known price under a cost limit"},
		{Name: "instructions", Field: form.Into(&m.Instructions, form.UpTo(form.MaxCommands, form.Flat(instructionForm))), Doc: "Files or globs whose text every session gets as instructions, relative to the manifest"},
		{Name: "prices", Field: form.Into(&m.Prices, pricesForm), Doc: "Prices of models by PROVIDER/MODEL, in USD per million tokens"},
		{Name: "agents", Field: form.Into(&m.Agents, agentsForm), Doc: "Agents by name: new ones, or changes of build, plan, explore and general"},
		{Name: "agents_from", Field: form.Into(&m.AgentFiles, form.UpTo(form.MaxDefined, form.Flat(agentFilesForm))), Doc: "Markdown files with agents in OpenCode's format, directories of them, or an .opencode directory"},
		{Name: "commands", Field: form.Adding(&m.Commands, commandsForm), Doc: "Commands by name: prompts of tasks that name them as command, with arguments"},
		{Name: "commands_from", Field: form.Adding(&m.Commands, form.UpTo(form.MaxDefined, form.Flat(commandFilesForm))), Doc: "Markdown files with commands in OpenCode's format, directories of them, or an .opencode directory"},
		{Name: "providers", Field: form.Into(&m.Providers, providersForm), Doc: "Model endpoints by name: new ones, or changes of known providers"},
		{Name: "forges", Field: form.Into(&m.forges, forgesForm), Doc: "Git hosts, as HOST or HOST:PORT: what they are, and where their tokens come from"},
		{Name: "search", Field: form.Into(&m.Search, searchForm), Doc: "Service that the tools websearch and codesearch query"},
		{Name: "tools", Field: form.Into(&m.Tools, toolsForm), Doc: "Custom tools by name"},
		{Name: "skills", Field: form.Into(&m.Skills, form.UpTo(form.MaxDefined, form.ListOf(skillsForm))), Doc: "Directories with skills, relative to the manifest"},
		{Name: "batch", Field: form.Into(&m.Batch, form.Bool), Def: "false", Doc: "Offer the batch tool to models"},
		{Name: "tool_output", Field: form.Into(&m.Output, form.Mapping(OutputLimitKeys)), Doc: "Limits of the output of a tool call that a model gets"},
		{Name: "mcp", Field: form.Into(&m.Servers, mcpForm), Doc: "MCP servers by name, whose tools are offered as NAME_TOOL"},
		{Name: "tools_from", Field: form.Into(&m.ToolFiles, form.UpTo(form.MaxDefined, form.ListOf(scriptFileForm))), Doc: "Tool files in OpenCode's format: files, directories with a directory tool or tools, or workspace:PATH in the job's repository at its base commit"},
		{Name: "plugins", Field: form.Into(&m.Plugins, form.UpTo(form.MaxDefined, form.ListOf(pluginForm))), Doc: "Plugins in OpenCode's format: files, packages, or workspace:PATH"},
		{Name: "js", Field: form.Into(&m.Scripts, scriptsForm), Doc: "The process of tool files and plugins, one for each job"},
		{Name: "lsp", Field: form.Into(&m.LanguageServers, lspForm), Doc: "Language servers: true for the known ones that are on PATH, or servers by name"},
		{Name: "lsp_diagnostics", Field: form.Into(&m.Diagnostics, form.Mapping((*diagnostics).keys)), Doc: "When models get the errors that language servers find"},
		{Name: "hooks", Field: form.Into(&m.Hooks, hooksForm), Doc: "Commands that run on events of runs, jobs, tool calls and commits"},
		{Name: "rollout", Field: form.Into(&m.Rollout, rolloutForm), Doc: "Waves of jobs, each run by a separate invocation"},
		{Name: "evidence", Field: form.Noting(&m.Proof, form.Into(&m.Evidence, form.Mapping(evidenceKeys))), Doc: "Chain the events and seal the report directory, for millhand verify-report"},
		{Name: "follow", Field: form.Into(&m.Follow, followForm), Doc: "What millhand follow does with open pull requests; of several manifests, the strictest values hold"},
	}, samplingKeys(&m.Sampling)...)
}

func limitKeys(l *tasks.Limits) form.Table {
	return form.Table{
		{Name: "turns", Field: form.Into(&l.Turns, form.Positive()), Def: "100", Doc: "Model requests of a job"},
		{Name: "cost", Field: form.Into(&l.CostUSD, form.Cost), Doc: "Cost of a job in USD"},
		{Name: "time", Field: form.Into(&l.Time, form.Duration), Def: "1h", Doc: "Duration of a job"},
		{Name: "tokens", Field: form.Into(&l.Tokens, form.Tokens), Doc: "Input and output tokens of a job"},
		{Name: "denials", Field: form.Into(&l.Denials, form.Positive()), Def: "50", Doc: "Denied tool calls of a job"},
		{Name: "failures", Field: form.Into(&l.Failures, form.Positive()), Def: "50", Doc: "Failed tool calls of a job"},
		{Name: "disk", Field: form.Into(&l.Disk, form.Bytes), Def: "8GB", Doc: "Growth of the workspace and the private directories of a job"},
		{Name: "memory", Field: form.Into(&l.Memory, form.Bytes), Doc: "Memory of the commands of a job"},
		{Name: "processes", Field: form.Into(&l.Processes, form.Between(leastProcesses, math.MaxInt32)), Def: "4096", Doc: "Processes and threads of the commands of a job"},
	}
}

func budgetKeys(b *tasks.Budget) form.Table {
	return form.Table{
		{Name: "cost", Field: form.Into(&b.CostUSD, form.Cost), Doc: "Cost of the run in USD"},
		{Name: "time", Field: form.Into(&b.Time, form.Duration), Doc: "Duration of the run"},
	}
}

// OutputLimitKeys are the keys of limits.output, which set its fields.
func OutputLimitKeys(o *tasks.OutputLimits) form.Table {
	return form.Table{
		{Name: "lines", Field: form.Into(&o.Lines, form.Between(1, maxOutputLines)), Def: "2000", Doc: "Lines; longer output is truncated and saved to a file"},
		{Name: "bytes", Field: form.Into(&o.Bytes, form.Between(1, maxOutputBytes)), Def: "51200", Doc: "Bytes; longer output is truncated and saved to a file"},
	}
}

func (p *Price) keys() form.Table {
	return form.Table{
		{Name: "input", Field: form.Required("input: 0.25", form.Into(&p.Input, form.Price)), Doc: "Price of input tokens"},
		{Name: "output", Field: form.Required("output: 2.00", form.Into(&p.Output, form.Price)), Doc: "Price of output tokens"},
		{Name: "cache_read", Field: form.Into(&p.CacheRead, form.Price), Doc: cacheReadDoc},
		{Name: "cache_write", Field: form.Into(&p.CacheWrite, form.Price), Doc: cacheWriteDoc},
		{Name: "tiers", Field: form.Into(&p.tiers, tiersForm), Doc: tiersDoc},
	}
}

// Keys returns the keys of a manifest, each before the keys below it, in the
// order of the tables.
func Keys() []form.Key { return new(Manifest).Keys().Below("") }

// PolicyKeys returns the keys of a policy file, like [Keys].
func PolicyKeys() []form.Key { return new(policyFile).keys().Below("") }

// JSONSchema returns the JSON Schema (draft 2020-12) of a manifest, made from the
// tables of keys. It accepts every valid manifest, except that keys without a value count
// as missing there. What depends on several keys, or on files, only package expand checks.
func JSONSchema() map[string]any {
	return form.SchemaDocument("manifest", new(Manifest).Keys())
}

// PolicySchema returns the JSON Schema of a policy file, like [JSONSchema].
func PolicySchema() map[string]any {
	return form.SchemaDocument("policy", new(policyFile).keys())
}

// addTo adds what a manifest defines to the names that profiles may, or must not, speak of.
func (m *Manifest) addTo(names *profiles.Vocabulary) {
	for _, d := range m.Tools {
		names.Tools = append(names.Tools, d.Is.Name)
	}
	for _, d := range m.Servers {
		names.Servers = append(names.Servers, strings.ToLower(d.Is.Name)+"_")
	}
	for _, d := range m.Providers {
		names.Keys = append(names.Keys, d.Is.KeyEnv)
		if d.Is.Login != nil {
			names.Keys = append(names.Keys, d.Is.Login.TokenEnv)
		}
	}
	for _, d := range m.forges {
		names.Keys = append(names.Keys, d.Is.TokenEnv)
		if d.Is.App != nil {
			names.Keys = append(names.Keys, d.Is.App.KeyEnv)
		}
	}
	for _, d := range m.Search {
		names.Keys = append(names.Keys, d.Is.KeyEnv)
	}
}

// Gather returns what manifests define, each thing once. It records what two of
// them define differently.
func Gather[T any](manifests []*Manifest, of func(*Manifest) []form.Definition[T]) []form.Definition[T] {
	var all []form.Definition[T]
	first := map[string]form.Definition[T]{}
	for _, m := range manifests {
		for _, d := range of(m) {
			before, twice := first[d.Title]
			switch {
			case !twice:
				first[d.Title] = d
				all = append(all, d)
			case before.Digest != d.Digest:
				d.KeyProblem(fmt.Sprintf("the %s differs from the one at %s", d.Title, before.RuleSource()), "make them equal, or rename one of them")
			}
		}
	}
	return all
}
