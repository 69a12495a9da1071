package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

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

// OutputLimitKeys are the keys of limits.output, which set its fields.
func OutputLimitKeys(o *tasks.OutputLimits) form.Table {
	return form.Table{
		{Name: "lines", Field: form.Into(&o.Lines, form.Between(1, maxOutputLines)), Def: "2000", Doc: "Lines; longer output is truncated and saved to a file"},
		{Name: "bytes", Field: form.Into(&o.Bytes, form.Between(1, maxOutputBytes)), Def: "51200", Doc: "Bytes; longer output is truncated and saved to a file"},
	}
}

// EveryKey returns the keys of a manifest, each before the keys below it, in the
// order of the tables.
func EveryKey() []form.Key { return new(Manifest).Keys().Below("") }

// PolicyKeys returns the keys of a policy file, like [EveryKey].
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
		if o := d.Is.WrittenRemote.oauth; o != nil {
			names.Keys = append(names.Keys, o.SecretEnv)
		}
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
			case before.Digest != d.Digest || before.Paths != d.Paths:
				d.Value.KeyProblem(fmt.Sprintf("the %s differs from the one at %s", d.Title, before.Value.RuleSource()), "make them equal, or rename one of them")
			}
		}
	}
	return all
}
