package tasks

import (
	"cmp"
	"math"
	"path/filepath"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks/form"
)

// DefaultLimits returns the limits of a job whose manifest sets none. Cost,
// tokens and memory have no default.
func DefaultLimits() Limits { return form.WithDefaults(limitKeys) }

// maxParallel is the maximum number of jobs that run concurrently.
const maxParallel = 256

// manifest is one file as it is written, with what can be said about it
// without the other files and the command line.
type manifest struct {
	form.Value
	lists             *lists
	name              string
	models            modelChain
	sampling          Sampling
	profile           *form.Text
	limits            Limits
	budget            Budget
	parallel          int // 0: not set
	clones            int // 0: not set
	vars              map[string]string
	profiles          *profiles
	repos             repoList
	tasks             []*task
	allowDirty        bool
	allowUnknownPrice bool
	unknown           form.Value // of allow_unknown_price
	instructions      []Instruction
	instructed        string // a digest of the instructions
	prices            []price
	agents            []*agent // those of agentFiles too
	agentFiles        []*agent
	commands          []*commandFile
	providers         []definition[provider]
	forges            []definition[Forge]
	search            []definition[Search] // at most one
	tools             []definition[CustomTool]
	servers           []definition[mcpServer]
	toolFiles         []definition[ScriptFile]
	plugins           []definition[ScriptFile]
	scripts           []definition[scripts] // at most one
	hooks             []definition[hook]
	languageServers   []definition[languageServer]
	diagnostics       diagnostics
	rollout           *rollout
	skills            []skillDir
	batch             bool
	follow            *Follow // nil without it
	output            OutputLimits
	evidence          Evidence
	proof             form.Value // of evidence
}

// price is the price of a model in a manifest.
type price struct {
	form.Value
	money.Price
	model string
	tiers []tier
}

// readManifest reads a manifest. References between its parts, other manifests
// and the command line are checked later.
func readManifest(v form.Value, l *lists) *manifest {
	m := &manifest{Value: v, lists: l, profiles: newProfiles()}
	m.keys().Read(v)
	v.Src.NotePassedOver()
	m.agents = append(m.agents, laterFiles(m.agentFiles)...)
	m.instructions = onlyOnce(v, m.instructions)
	m.instructed = digest(m.instructions)
	for _, t := range m.tasks {
		t.manifest = m
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

// limitsOver returns l with the gaps filled from base.
func limitsOver(l Limits, base Limits) Limits {
	return Limits{
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

var pricesForm = form.MapOf("MODEL", form.TypeOf((*price).keys), readPrices)

// readPrices reads prices of models.
func readPrices(v form.Value) ([]price, bool) {
	var all []price
	entries, ok := v.Entries()
	for _, e := range entries {
		p := price{Value: e, model: e.Key.Value}
		got := p.keys().Read(e)
		given := p.Rates
		p.Rates = prices.Rates(p.model, p.Input, p.Output)
		if _, ok := got["cache_read"]; ok {
			p.CacheRead = given.CacheRead
		}
		if _, ok := got["cache_write"]; ok {
			p.Rates = p.WithCache(nil, &given.CacheWrite)
		}
		p.Tiers = filledTiers(p.model, p.tiers)
		all = append(all, p)
	}
	return all, ok
}

// baseName is what a plan without a name is called.
func baseName(path string) string {
	if path == "-" {
		return "stdin"
	}
	return filepath.Base(path)
}

func (m *manifest) keys() form.Table {
	return append(form.Table{
		{Name: "version", Field: form.Required("version: 1", form.Checked(versionForm)), Doc: "Version of the manifest format, a file of at most 1 MiB"},
		{Name: "name", Field: form.Into(&m.name, form.String), Doc: "Name of the run in reports (the first manifest's file name if absent)"},
		{Name: "model", Field: form.Into(&m.models, modelsForm), Doc: "Model as PROVIDER/MODEL, script:FILE or replay:FILE, or a list of up to 10 whose later entries are fallbacks"},
		{Name: "profile", Field: form.Into(&m.profile, form.Optional(form.Filled)), Def: "readonly", Doc: "Profile of all tasks: a preset (readonly, review, edit, build, full) or a name under profiles"},
		{Name: "limits", Field: form.Into(&m.limits, form.Mapping(limitKeys)), Doc: "Limits of each job"},
		{Name: "budget", Field: form.Into(&m.budget, form.Mapping(budgetKeys)), Doc: "Limits of the run"},
		{Name: "jobs", Field: form.Into(&m.parallel, form.Between(1, maxParallel)), Def: "1", Doc: "Number of jobs that run concurrently"},
		{Name: "clones", Field: form.Into(&m.clones, form.Between(1, maxParallel)), Def: "4", Doc: "Number of repositories that are fetched concurrently"},
		{Name: "vars", Field: form.Into(&m.vars, varsForm), Doc: "Variables for ${{ vars.NAME }}"},
		{Name: "profiles", Field: form.Into(&m.profiles, profilesForm), Doc: "Permission profiles by name"},
		{Name: "repos", Field: form.Into(&m.repos, m.lists.repos()), Doc: "Repositories that tasks run on (the current repository if absent)"},
		{Name: "tasks", Field: form.Into(&m.tasks, form.UpTo(maxJobs, form.ListOf(taskForm(m.lists)))), Doc: "Tasks to run, at least one"},
		{Name: "allow_dirty", Field: form.Into(&m.allowDirty, form.Bool), Def: "false", Doc: "Accept uncommitted changes in repositories that are changed in place"},
		{Name: "allow_unknown_price", Field: form.Noting(&m.unknown, form.Into(&m.allowUnknownPrice, form.Bool)), Def: "false", Doc: "Accept models without a known price under a cost limit"},
		{Name: "instructions", Field: form.Into(&m.instructions, form.UpTo(form.MaxCommands, form.Flat(instructionForm))), Doc: "Files or globs whose text every session gets as instructions, relative to the manifest"},
		{Name: "prices", Field: form.Into(&m.prices, pricesForm), Doc: "Prices of models by PROVIDER/MODEL, in USD per million tokens"},
		{Name: "agents", Field: form.Into(&m.agents, agentsForm), Doc: "Agents by name: new ones, or changes of build, plan, explore and general"},
		{Name: "agents_from", Field: form.Into(&m.agentFiles, form.UpTo(form.MaxDefined, form.Flat(agentFilesForm))), Doc: "Markdown files with agents in OpenCode's format, directories of them, or an .opencode directory"},
		{Name: "commands", Field: form.Adding(&m.commands, commandsForm), Doc: "Commands by name: prompts of tasks that name them as command, with arguments"},
		{Name: "commands_from", Field: form.Adding(&m.commands, form.UpTo(form.MaxDefined, form.Flat(commandFilesForm))), Doc: "Markdown files with commands in OpenCode's format, directories of them, or an .opencode directory"},
		{Name: "providers", Field: form.Into(&m.providers, providersForm), Doc: "Model endpoints by name: new ones, or changes of known providers"},
		{Name: "forges", Field: form.Into(&m.forges, forgesForm), Doc: "Git hosts, as HOST or HOST:PORT: what they are, and where their tokens come from"},
		{Name: "search", Field: form.Into(&m.search, searchForm), Doc: "Service that the tools websearch and codesearch query"},
		{Name: "tools", Field: form.Into(&m.tools, toolsForm), Doc: "Custom tools by name"},
		{Name: "skills", Field: form.Into(&m.skills, form.UpTo(form.MaxDefined, form.ListOf(skillsForm))), Doc: "Directories with skills, relative to the manifest"},
		{Name: "batch", Field: form.Into(&m.batch, form.Bool), Def: "false", Doc: "Offer the batch tool to models"},
		{Name: "tool_output", Field: form.Into(&m.output, form.Mapping(outputLimitKeys)), Doc: "Limits of the output of a tool call that a model gets"},
		{Name: "mcp", Field: form.Into(&m.servers, mcpForm), Doc: "MCP servers by name, whose tools are offered as NAME_TOOL"},
		{Name: "tools_from", Field: form.Into(&m.toolFiles, form.UpTo(form.MaxDefined, form.ListOf(scriptFileForm))), Doc: "Tool files in OpenCode's format: files, directories with a directory tool or tools, or workspace:PATH in the job's repository at its base commit"},
		{Name: "plugins", Field: form.Into(&m.plugins, form.UpTo(form.MaxDefined, form.ListOf(pluginForm))), Doc: "Plugins in OpenCode's format: files, packages, or workspace:PATH"},
		{Name: "js", Field: form.Into(&m.scripts, scriptsForm), Doc: "The process of tool files and plugins, one for each job"},
		{Name: "lsp", Field: form.Into(&m.languageServers, lspForm), Doc: "Language servers: true for the known ones that are on PATH, or servers by name"},
		{Name: "lsp_diagnostics", Field: form.Into(&m.diagnostics, form.Mapping((*diagnostics).keys)), Doc: "When models get the errors that language servers find"},
		{Name: "hooks", Field: form.Into(&m.hooks, hooksForm), Doc: "Commands that run on events of runs, jobs, tool calls and commits"},
		{Name: "rollout", Field: form.Into(&m.rollout, rolloutForm), Doc: "Waves of jobs, each run by a separate invocation"},
		{Name: "evidence", Field: form.Noting(&m.proof, form.Into(&m.evidence, form.Mapping(evidenceKeys))), Doc: "Chain the events and seal the report directory, for millhand verify-report"},
		{Name: "follow", Field: form.Into(&m.follow, followForm), Doc: "What millhand follow does with open pull requests; of several manifests, the strictest values hold"},
	}, samplingKeys(&m.sampling)...)
}

func limitKeys(l *Limits) form.Table {
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

func budgetKeys(b *Budget) form.Table {
	return form.Table{
		{Name: "cost", Field: form.Into(&b.CostUSD, form.Cost), Doc: "Cost of the run in USD"},
		{Name: "time", Field: form.Into(&b.Time, form.Duration), Doc: "Duration of the run"},
	}
}

func outputLimitKeys(o *OutputLimits) form.Table {
	return form.Table{
		{Name: "lines", Field: form.Into(&o.Lines, form.Between(1, maxOutputLines)), Def: "2000", Doc: "Lines; longer output is truncated and saved to a file"},
		{Name: "bytes", Field: form.Into(&o.Bytes, form.Between(1, maxOutputBytes)), Def: "51200", Doc: "Bytes; longer output is truncated and saved to a file"},
	}
}

func (p *price) keys() form.Table {
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
func Keys() []form.Key { return new(manifest).keys().Below("") }

// PolicyKeys returns the keys of a policy file, like [Keys].
func PolicyKeys() []form.Key { return new(policyFile).keys().Below("") }

// ManifestSchema returns the JSON Schema (draft 2020-12) of a manifest, made from the
// tables of keys. It accepts every valid manifest, except that keys without a value count
// as missing there. What depends on several keys, or on files, only [Load] checks.
func ManifestSchema() map[string]any {
	return form.SchemaDocument("manifest", new(manifest).keys())
}

// PolicySchema returns the JSON Schema of a policy file, like [ManifestSchema].
func PolicySchema() map[string]any {
	return form.SchemaDocument("policy", new(policyFile).keys())
}
