package tasks

import (
	"cmp"
	"math"
	"path/filepath"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
)

// DefaultLimits returns the limits of a job whose manifest sets none. Cost,
// tokens and memory have no default.
func DefaultLimits() Limits { return withDefaults((*Limits).keys) }

// maxParallel is the maximum number of jobs that run concurrently.
const maxParallel = 256

// manifest is one file as it is written, with what can be said about it
// without the other files and the command line.
type manifest struct {
	value
	lists             *lists
	name              string
	models            modelChain
	sampling          Sampling
	profile           *text
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
	unknown           value // of allow_unknown_price
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
	proof             value // of evidence
}

// price is the price of a model in a manifest.
type price struct {
	value
	money.Price
	model string
	tiers []tier
}

// readManifest reads a manifest. References between its parts, other manifests
// and the command line are checked later.
func readManifest(v value, l *lists) *manifest {
	m := &manifest{value: v, lists: l, profiles: newProfiles()}
	m.keys().read(v)
	v.src.notePassedOver()
	m.agents = append(m.agents, laterFiles(m.agentFiles)...)
	m.instructions = onlyOnce(v, m.instructions)
	m.instructed = digest(m.instructions)
	for _, t := range m.tasks {
		t.manifest = m
		t.resolveCommand()
	}
	return m
}

var versionForm = form[int]{Type{Name: "integer", Min: 1, Max: 1}, readVersion}

// readVersion accepts the only version of the format.
func readVersion(v value) (int, bool) {
	isInt := v.isScalar() && v.node.ShortTag() == "!!int"
	switch {
	case isInt && v.node.Value == "1":
		return 1, true
	case isInt:
		v.problem("version "+v.node.Value+" is not supported", "write version: 1")
	default:
		v.wrong("the number 1", "write version: 1")
	}
	return 0, false
}

// leastProcesses is what one command in the sandbox needs.
const leastProcesses = 16

// over returns l with the gaps filled from base.
func (l Limits) over(base Limits) Limits {
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

var varsForm = mapOf("NAME", scalarType(), readVars)

// readVars reads variables. They may be numbers and booleans too, and are texts
// spelt as in the file.
func readVars(v value) (map[string]string, bool) {
	vars := map[string]string{}
	entries, ok := v.entries()
	for _, e := range entries {
		if t, ok := e.scalar(); ok && e.named() {
			vars[e.key.Value] = t.s
		}
	}
	return vars, ok
}

var pricesForm = mapOf("MODEL", typeOf((*price).keys), readPrices)

// readPrices reads prices of models.
func readPrices(v value) ([]price, bool) {
	var all []price
	entries, ok := v.entries()
	for _, e := range entries {
		p := price{value: e, model: e.key.Value}
		got := p.keys().read(e)
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

func (m *manifest) keys() keys {
	return append(keys{
		{"version", required("version: 1", checked(versionForm)), "", "Version of the manifest format, a file of at most 1 MiB"},
		{"name", into(&m.name, stringForm), "", "Name of the run in reports (the first manifest's file name if absent)"},
		{"model", into(&m.models, modelsForm), "", "Model as PROVIDER/MODEL, script:FILE or replay:FILE, or a list of up to 10 whose later entries are fallbacks"},
		{"profile", into(&m.profile, optional(textForm)), "readonly", "Profile of all tasks: a preset (readonly, review, edit, build, full) or a name under profiles"},
		{"limits", into(&m.limits, mapping((*Limits).keys)), "", "Limits of each job"},
		{"budget", into(&m.budget, mapping((*Budget).keys)), "", "Limits of the run"},
		{"jobs", into(&m.parallel, between(1, maxParallel)), "1", "Number of jobs that run concurrently"},
		{"clones", into(&m.clones, between(1, maxParallel)), "4", "Number of repositories that are fetched concurrently"},
		{"vars", into(&m.vars, varsForm), "", "Variables for ${{ vars.NAME }}"},
		{"profiles", into(&m.profiles, profilesForm), "", "Permission profiles by name"},
		{"repos", into(&m.repos, m.lists.repos()), "", "Repositories that tasks run on (the current repository if absent)"},
		{"tasks", into(&m.tasks, upTo(maxJobs, listOf(taskForm(m.lists)))), "", "Tasks to run, at least one"},
		{"allow_dirty", into(&m.allowDirty, boolForm), "false", "Accept uncommitted changes in repositories that are changed in place"},
		{"allow_unknown_price", noting(&m.unknown, into(&m.allowUnknownPrice, boolForm)), "false", "Accept models without a known price under a cost limit"},
		{"instructions", into(&m.instructions, upTo(maxCommands, flat(instructionForm))), "", "Files or globs whose text every session gets as instructions, relative to the manifest"},
		{"prices", into(&m.prices, pricesForm), "", "Prices of models by PROVIDER/MODEL, in USD per million tokens"},
		{"agents", into(&m.agents, agentsForm), "", "Agents by name: new ones, or changes of build, plan, explore and general"},
		{"agents_from", into(&m.agentFiles, upTo(maxDefined, flat(agentFilesForm))), "", "Markdown files with agents in OpenCode's format, directories of them, or an .opencode directory"},
		{"commands", adding(&m.commands, commandsForm), "", "Commands by name: prompts of tasks that name them as command, with arguments"},
		{"commands_from", adding(&m.commands, upTo(maxDefined, flat(commandFilesForm))), "", "Markdown files with commands in OpenCode's format, directories of them, or an .opencode directory"},
		{"providers", into(&m.providers, providersForm), "", "Model endpoints by name: new ones, or changes of known providers"},
		{"forges", into(&m.forges, forgesForm), "", "Git hosts, as HOST or HOST:PORT: what they are, and where their tokens come from"},
		{"search", into(&m.search, searchForm), "", "Service that the tools websearch and codesearch query"},
		{"tools", into(&m.tools, toolsForm), "", "Custom tools by name"},
		{"skills", into(&m.skills, upTo(maxDefined, listOf(skillsForm))), "", "Directories with skills, relative to the manifest"},
		{"batch", into(&m.batch, boolForm), "false", "Offer the batch tool to models"},
		{"tool_output", into(&m.output, mapping((*OutputLimits).keys)), "", "Limits of the output of a tool call that a model gets"},
		{"mcp", into(&m.servers, mcpForm), "", "MCP servers by name, whose tools are offered as NAME_TOOL"},
		{"tools_from", into(&m.toolFiles, upTo(maxDefined, listOf(scriptFileForm))), "", "Tool files in OpenCode's format: files, directories with a directory tool or tools, or workspace:PATH in the job's repository at its base commit"},
		{"plugins", into(&m.plugins, upTo(maxDefined, listOf(pluginForm))), "", "Plugins in OpenCode's format: files, packages, or workspace:PATH"},
		{"js", into(&m.scripts, scriptsForm), "", "The process of tool files and plugins, one for each job"},
		{"lsp", into(&m.languageServers, lspForm), "", "Language servers: true for the known ones that are on PATH, or servers by name"},
		{"lsp_diagnostics", into(&m.diagnostics, mapping((*diagnostics).keys)), "", "When models get the errors that language servers find"},
		{"hooks", into(&m.hooks, hooksForm), "", "Commands that run on events of runs, jobs, tool calls and commits"},
		{"rollout", into(&m.rollout, rolloutForm), "", "Waves of jobs, each run by a separate invocation"},
		{"evidence", noting(&m.proof, into(&m.evidence, mapping((*Evidence).keys))), "", "Chain the events and seal the report directory, for millhand verify-report"},
		{"follow", into(&m.follow, followForm), "", "What millhand follow does with open pull requests; of several manifests, the strictest values hold"},
	}, m.sampling.keys()...)
}

func (l *Limits) keys() keys {
	return keys{
		{"turns", into(&l.Turns, positive()), "100", "Model requests of a job"},
		{"cost", into(&l.CostUSD, costForm), "", "Cost of a job in USD"},
		{"time", into(&l.Time, durationForm), "1h", "Duration of a job"},
		{"tokens", into(&l.Tokens, tokensForm), "", "Input and output tokens of a job"},
		{"denials", into(&l.Denials, positive()), "50", "Denied tool calls of a job"},
		{"failures", into(&l.Failures, positive()), "50", "Failed tool calls of a job"},
		{"disk", into(&l.Disk, bytesForm), "8GB", "Growth of the workspace and the private directories of a job"},
		{"memory", into(&l.Memory, bytesForm), "", "Memory of the commands of a job"},
		{"processes", into(&l.Processes, between(leastProcesses, math.MaxInt32)), "4096", "Processes and threads of the commands of a job"},
	}
}

func (b *Budget) keys() keys {
	return keys{
		{"cost", into(&b.CostUSD, costForm), "", "Cost of the run in USD"},
		{"time", into(&b.Time, durationForm), "", "Duration of the run"},
	}
}

func (o *OutputLimits) keys() keys {
	return keys{
		{"lines", into(&o.Lines, between(1, maxOutputLines)), "2000", "Lines; longer output is truncated and saved to a file"},
		{"bytes", into(&o.Bytes, between(1, maxOutputBytes)), "51200", "Bytes; longer output is truncated and saved to a file"},
	}
}

func (p *price) keys() keys {
	return keys{
		{"input", required("input: 0.25", into(&p.Input, priceForm)), "", "Price of input tokens"},
		{"output", required("output: 2.00", into(&p.Output, priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&p.CacheRead, priceForm), "", cacheReadDoc},
		{"cache_write", into(&p.CacheWrite, priceForm), "", cacheWriteDoc},
		{"tiers", into(&p.tiers, tiersForm), "", tiersDoc},
	}
}

// Keys returns the keys of a manifest, each before the keys below it, in the
// order of the tables.
func Keys() []Key { return new(manifest).keys().below("") }

// PolicyKeys returns the keys of a policy file, like [Keys].
func PolicyKeys() []Key { return new(policyFile).keys().below("") }

// ManifestSchema returns the JSON Schema (draft 2020-12) of a manifest, made from the
// tables of keys. It accepts every valid manifest, except that keys without a value count
// as missing there. What depends on several keys, or on files, only [Load] checks.
func ManifestSchema() map[string]any {
	return schemaDocument("manifest", new(manifest).keys())
}

// PolicySchema returns the JSON Schema of a policy file, like [ManifestSchema].
func PolicySchema() map[string]any {
	return schemaDocument("policy", new(policyFile).keys())
}
