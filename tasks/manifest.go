package tasks

import (
	"cmp"
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
func readManifest(v value) *manifest {
	m := &manifest{value: v, profiles: newProfiles()}
	m.keys().read(v)
	v.src.notePassedOver()
	m.agents = append(m.agents, laterFiles(m.agentFiles)...)
	m.instructions = v.onlyOnce(m.instructions)
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
