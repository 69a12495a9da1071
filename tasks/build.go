package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// builder makes a plan of manifests. Each of its steps goes on after a
// problem, so that one run finds all of them.
type builder struct {
	*loader
	manifests []*manifest
	complete  bool                   // no manifest is missing because its file is broken
	byID      map[string]*task       // the tasks by id
	defaults  manifest               // of keys that no manifest sets
	override  map[*manifest]*profile // the command line's profile, as each manifest understands it
	rendered  int                    // bytes of texts with variables so far

	shared definitions
}

// definitions are what the manifests define for all jobs.
type definitions struct {
	endpoints       []definition[provider]
	providers       map[string]Provider // the endpoints, by their names
	providerNames   []string
	forges          []Forge
	agents          []definition[Agent]
	search          []definition[Search] // at most one
	tools           []definition[CustomTool]
	servers         []definition[mcpServer]
	scripts         scriptDefinitions
	hooks           []definition[hook]
	languageServers []definition[languageServer]
	skills          []skillDir
}

// draft is a job while it is made.
type draft struct {
	job    Job
	task   *task
	repo   *repo
	unsure bool      // the task's repositories are not known: what jobs share can't be checked
	branch string    // what its branch is called by default
	digest [3]string // of what all jobs of the task share
}

// plan runs the steps. It returns nil after a problem.
func (b *builder) plan(ctx context.Context, paths []string) (*Plan, error) {
	b.index()
	b.checkNeeds()
	b.define()
	b.checkManifests()
	b.checkOverrides()
	drafts := b.expand()
	b.name(drafts)
	common := map[*task]settings{}
	for _, t := range b.all() {
		common[t] = b.settingsOf(t)
	}
	for _, d := range drafts {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("load manifests: %w", context.Cause(ctx))
		}
		b.fill(d, common[d.task])
	}
	checkBranches(drafts)
	checkOutputs(drafts)
	selected := b.selected(drafts)
	b.checkPublishing(drafts, selected)
	rollout := planRollout(b, drafts)
	bars := &barNotes{found: b.found, looked: map[*task]int{}}
	for _, d := range selected {
		bars.named(d.task, &d.job)
		bars.change(d.task, d.job)
	}
	notes := b.connect(drafts, selected)
	if len(b.found.List) > 0 {
		return nil, nil
	}
	p := b.assemble(paths, selected)
	p.Rollout = rollout
	locate(b.inputs.Uses, drafts, b.manifests)
	p.Notes = slices.Concat(b.found.Notes, notes)
	takeShard(p, b.options.Overrides.Shard)
	return p, nil
}

// all returns the tasks of all manifests in order.
func (b *builder) all() []*task {
	var all []*task
	for _, m := range b.manifests {
		all = append(all, m.tasks...)
	}
	return all
}

// index finds the tasks by their ids, which must differ, and in more than case:
// they become the names of files.
func (b *builder) index() {
	b.byID = map[string]*task{}
	lower := map[string]*task{}
	for _, t := range b.all() {
		if t.id.S == "" {
			continue
		}
		first := lower[strings.ToLower(t.id.S)]
		switch {
		case first == nil:
			t.named = true
			lower[strings.ToLower(t.id.S)] = t
		case first.id.S == t.id.S:
			t.id.Problem(fmt.Sprintf("duplicate task id %s, first at %s", problem.Quote(t.id.S), first.id.Position()), "rename one of the tasks")
		default:
			t.id.Problem(fmt.Sprintf("task id %s differs from %s (%s) only in case", problem.Quote(t.id.S), problem.Quote(first.id.S), first.id.Position()), "rename one of the tasks")
		}
		b.byID[t.id.S] = t
	}
	if len(b.all()) == 0 && len(b.found.List) == 0 {
		b.manifests[0].Problem("missing tasks", "add at least one under tasks:, with an id and a prompt")
	}
}

// checkManifests checks what manifests name at their top, used or not.
func (b *builder) checkManifests() {
	b.override = map[*manifest]*profile{}
	prices := map[string]price{}
	for _, m := range b.manifests {
		m.profiles.all()
		if b.options.Overrides.Profile != "" {
			b.override[m] = form.Pointer(b.profile(b.options.Overrides.Profile, "--profile", m.profiles))
		}
		if b.options.Overrides.Model == "" {
			b.chainAt(m.models)
		}
		if m.profile != nil {
			profileAt(m, *m.profile)
		}
		b.checkUnknownPrices(m)
		for _, p := range m.prices {
			if what, fix := b.provider(p.model); what != "" && !slices.Contains(laterProviders, prefixOf(p.model)) {
				p.KeyProblem(what, fix)
			}
			b.checkPrice(p)
			before, twice := prices[p.model]
			if twice && digest(before.Price) != digest(p.Price) {
				p.KeyProblem(fmt.Sprintf("the price of %s differs from the one at %s", problem.Quote(p.model), before.RuleSource()), "state it once")
			}
			prices[p.model] = p
		}
	}
}

// assemble makes the plan of the selected jobs.
func (b *builder) assemble(paths []string, drafts []*draft) *Plan {
	p := &Plan{
		Name:              cmp.Or(b.manifests[0].name, baseName(paths[0])),
		Manifests:         slices.Clone(paths),
		AllowDirty:        true,
		AllowUnknownPrice: true,
		Prices:            map[string]money.Price{},
	}
	for _, m := range b.manifests {
		p.AllowDirty = p.AllowDirty && m.allowDirty
		p.AllowUnknownPrice = p.AllowUnknownPrice && m.allowUnknownPrice
		p.Parallel = lower(p.Parallel, m.parallel)
		p.Clones = max(p.Clones, m.clones)
		p.Budget = Budget{CostUSD: lower(p.Budget.CostUSD, m.budget.CostUSD), Time: lower(p.Budget.Time, m.budget.Time)}
		p.Profiles = append(p.Profiles, m.profiles.all()...)
		for _, price := range m.prices {
			p.Prices[price.model] = price.Price
		}
	}
	for _, policy := range b.options.Policies {
		maps.Copy(p.Prices, policy.Prices)
	}
	o := b.options.Overrides
	p.Parallel = cmp.Or(o.Parallel, p.Parallel, b.defaults.parallel)
	p.Clones = cmp.Or(p.Clones, b.defaults.clones)
	p.Budget = Budget{CostUSD: lower(p.Budget.CostUSD, o.MaxCost), Time: lower(p.Budget.Time, o.MaxTime)}
	p.Policies, p.Follow = b.options.Policies, planFollow(b.manifests)
	if most := p.Policies.RunCap(); most.USD > 0 && lower(p.Budget.CostUSD, most.USD) != p.Budget.CostUSD {
		p.Budget.CostUSD = most.USD
		b.found.Note(fmt.Sprintf("the run's budget is $%v, by budget (%s)", most.USD, most.Source))
	}
	p.Jobs = make([]Job, len(drafts))
	for i, d := range drafts {
		p.Jobs[i] = d.job
		p.Jobs[i].Index, p.Jobs[i].Hash = i+1, d.hash()
		p.Jobs[i].Beside = beside(p.Policies, d.task.manifest.Src)
	}
	b.equip(p)
	grantWorkspaces(p)
	protectGranted(p)
	p.Sources, p.Uses = b.lists.planned(), b.inputs.Uses
	p.Hash = b.hash(p, drafts)
	b.resolveBeside(p)
	return p
}

// lower returns the smaller of two limits; 0 is no limit.
func lower[T int | money.USD | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// locate records the locations of what a queue may refuse.
func locate(u *form.Uses, drafts []*draft, manifests []*manifest) {
	for _, d := range drafts {
		u.Places["output of "+d.job.ID] = d.task.Value
		u.Places["job "+d.job.ID] = d.task.Value
		if d.repo != nil && d.repo.Src != nil {
			u.Places["job "+d.job.ID] = d.repo.Value
		}
	}
	for _, m := range manifests {
		if m.rollout != nil {
			u.Places["rollout"] = m.rollout.Value
		}
		if m.proof.Node != nil {
			u.Places["evidence"] = m.proof
		}
	}
}
