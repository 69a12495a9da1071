package tasks

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// What holds where a manifest says nothing. Nothing runs for ever by default;
// money and tokens have no limit unless one is written.
const (
	DefaultProfile    = "readonly"
	DefaultParallel   = 1
	DefaultClones     = 4
	DefaultVerifyTime = 10 * time.Minute
)

// DefaultLimits returns what ends a job whose manifest does not say so.
func DefaultLimits() Limits {
	return Limits{Turns: 100, Time: time.Hour, Denials: 50, Failures: 50, Disk: 8e9, Processes: 4096}
}

// maxParallel is how many jobs may run side by side.
const maxParallel = 256

// manifest is one file as it is written, with what can be said about it
// without the other files and the command line.
type manifest struct {
	value
	name              string
	models            modelChain
	sampling          Sampling
	profile           *text
	limits            Limits
	budget            Budget
	parallel          int // 0: not said
	clones            int // likewise
	vars              map[string]string
	profiles          *profiles
	repos             []repo
	tasks             []*task
	allowDirty        bool
	allowUnknownPrice bool
	unknown           value // where that is said
	instructions      []Instruction
	instructed        string // a digest of the instructions
	prices            []price
	agents            []*agent
	providers         []definition[provider]
	search            []definition[Search] // at most one
	tools             []definition[CustomTool]
	skills            []skillFolder
	batch             bool
	output            OutputLimits
}

// price is what a manifest says that a model costs.
type price struct {
	value
	money.Price
	model string
}

// readManifest reads a whole manifest.
func readManifest(v value) *manifest {
	m := &manifest{value: v, profiles: newProfiles()}
	var entries []value
	var files [][]*agent
	var instructions [][]Instruction
	got := fields{
		"version":             readVersion,
		"name":                into(&m.name, value.str),
		"model":               func(v value) { m.models = readChain(v) },
		"profile":             func(v value) { m.profile = optional(v.filled()) },
		"limits":              into(&m.limits, readLimits),
		"budget":              into(&m.budget, readBudget),
		"jobs":                into(&m.parallel, number(maxParallel)),
		"clones":              into(&m.clones, number(maxParallel)),
		"vars":                into(&m.vars, readVars),
		"profiles":            into(&m.profiles, readProfiles),
		"repos":               into(&m.repos, readRepos),
		"tasks":               into(&entries, upTo(maxJobs, list(value.itself))),
		"allow_dirty":         into(&m.allowDirty, value.boolean),
		"allow_unknown_price": func(v value) { m.unknown = v; into(&m.allowUnknownPrice, value.boolean)(v) },
		"instructions":        into(&instructions, upTo(maxCommands, list(readInstruction))),
		"prices":              into(&m.prices, readPrices),
		"agents":              into(&m.agents, readAgents),
		"agents_from":         into(&files, upTo(maxDefined, list(readAgentFiles))),
		"providers":           into(&m.providers, readProviders),
		"search":              into(&m.search, readSearch),
		"tools":               into(&m.tools, readTools),
		"skills":              into(&m.skills, upTo(maxDefined, list(readSkillFolder))),
		"batch":               into(&m.batch, value.boolean),
		"tool_output":         into(&m.output, readOutputLimits),
		"mcp":                 laterKey, "lsp": laterKey, "hooks": laterKey, "notify": laterKey,
	}.sampled(&m.sampling).read(v)
	if _, ok := got["version"]; !ok && v.isMapping() {
		v.problem("there is no version", "write version: 1 first")
	}
	m.agents = append(m.agents, slices.Concat(files...)...)
	m.instructions = v.onlyOnce(slices.Concat(instructions...))
	m.instructed = digest(m.instructions)
	for _, e := range entries {
		m.tasks = append(m.tasks, readTask(e, m))
	}
	return m
}

// itself leaves a value to be read later.
func (v value) itself() (value, bool) { return v, true }

// readVersion accepts the one version that there is.
func readVersion(v value) {
	if v.isScalar() && v.node.ShortTag() == "!!int" && v.node.Value != "1" {
		v.problem("version "+v.node.Value+" is not known", "write version: 1")
		return
	}
	if v.node.Value != "1" || v.node.ShortTag() != "!!int" {
		v.wrong("the number 1", "write version: 1")
	}
}

// leastProcesses is what one command takes, with what confines it.
const leastProcesses = 16

// readLimits reads what ends a job. Zero values are what the manifest does not say.
func readLimits(v value) (Limits, bool) {
	var l Limits
	fields{
		"turns":    into(&l.Turns, number(math.MaxInt)),
		"cost":     into(&l.CostUSD, readCostLimit),
		"time":     into(&l.Time, readDuration),
		"tokens":   into(&l.Tokens, readTokens),
		"denials":  into(&l.Denials, number(math.MaxInt)),
		"failures": into(&l.Failures, number(math.MaxInt)),

		"disk":      into(&l.Disk, readSize),
		"memory":    into(&l.Memory, readSize),
		"processes": into(&l.Processes, between(leastProcesses, math.MaxInt32)),
	}.read(v)
	return l, true
}

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

// readBudget reads what ends a run.
func readBudget(v value) (Budget, bool) {
	var b Budget
	fields{"cost": into(&b.CostUSD, readCostLimit), "time": into(&b.Time, readDuration)}.read(v)
	return b, true
}

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

// readPrices reads prices of models. Cached tokens without a price of their own are
// charged as input.
func readPrices(v value) ([]price, bool) {
	var all []price
	entries, ok := v.entries()
	for _, e := range entries {
		p := price{value: e, model: e.key.Value}
		got := fields{
			"input":       into(&p.Input, readMoney),
			"output":      into(&p.Output, readMoney),
			"cache_read":  into(&p.CacheRead, readMoney),
			"cache_write": into(&p.CacheWrite, readMoney),
		}.read(e)
		if _, ok := got["cache_read"]; !ok {
			p.CacheRead = p.Input
		}
		if _, ok := got["cache_write"]; !ok {
			p.CacheWrite = p.Input
		}
		for _, key := range []string{"input", "output"} {
			if _, ok := got[key]; !ok && e.isMapping() {
				e.keyProblem(fmt.Sprintf("the price of %s lacks %s", quote(p.model), key), "write {input: 0.25, output: 2.00}, in USD per million tokens")
			}
		}
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
