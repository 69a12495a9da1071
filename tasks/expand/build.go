package expand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// builder makes a plan of manifests. Each of its steps goes on after a
// problem, so that one run finds all of them.
type builder struct {
	*manifest.Loader
	manifests []*manifest.Manifest
	complete  bool                                     // no manifest is missing because its file is broken
	byID      map[string]*manifest.Task                // the tasks by id
	defaults  manifest.Manifest                        // of keys that no manifest sets
	override  map[*manifest.Manifest]*profiles.Profile // the command line's profile, as each manifest understands it
	rendered  int                                      // bytes of texts with variables so far

	shared definitions
}

// definitions are what the manifests define for all jobs.
type definitions struct {
	endpoints       []form.Definition[manifest.Provider]
	providers       map[string]tasks.Provider // the endpoints, by their names
	providerNames   []string
	forges          []tasks.Forge
	agents          []form.Definition[tasks.Agent]
	search          []form.Definition[tasks.Search] // at most one
	tools           []form.Definition[tasks.CustomTool]
	servers         []form.Definition[manifest.MCPServer]
	scripts         scriptDefinitions
	hooks           []form.Definition[manifest.Hook]
	languageServers []form.Definition[manifest.LanguageServer]
	skills          []manifest.SkillDir
}

// draft is a job while it is made.
type draft struct {
	job    tasks.Job
	task   *manifest.Task
	repo   *repolist.Repo
	unsure bool      // the task's repositories are not known: what jobs share can't be checked
	branch string    // what its branch is called by default
	digest [3]string // of what all jobs of the task share
}

// plan runs the steps. It returns nil after a problem.
func (b *builder) plan(ctx context.Context, paths []string) (*tasks.Plan, error) {
	b.index()
	b.checkNeeds()
	b.define()
	b.checkManifests()
	b.checkOverrides()
	drafts := b.expand()
	b.name(drafts)
	common := map[*manifest.Task]settings{}
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
	bars := &barNotes{found: b.Found, looked: map[*manifest.Task]int{}}
	for _, d := range selected {
		bars.named(d.task, &d.job)
		bars.change(d.task, d.job)
	}
	notes := b.connect(drafts, selected)
	if len(b.Found.List) > 0 {
		return nil, nil
	}
	p := b.assemble(paths, selected)
	p.Rollout = rollout
	locate(b.Inputs.Uses, drafts, b.manifests)
	p.Notes = slices.Concat(b.Found.Notes, notes)
	takeShard(p, b.Options.Overrides.Shard)
	return p, nil
}

// all returns the tasks of all manifests in order.
func (b *builder) all() []*manifest.Task {
	var all []*manifest.Task
	for _, m := range b.manifests {
		all = append(all, m.Tasks...)
	}
	return all
}

// index finds the tasks by their ids, which must differ, and in more than case:
// they become the names of files.
func (b *builder) index() {
	b.byID = map[string]*manifest.Task{}
	lower := map[string]*manifest.Task{}
	for _, t := range b.all() {
		if t.ID.S == "" {
			continue
		}
		first := lower[strings.ToLower(t.ID.S)]
		switch {
		case first == nil:
			t.Unique = true
			lower[strings.ToLower(t.ID.S)] = t
		case first.ID.S == t.ID.S:
			t.ID.Problem(fmt.Sprintf("duplicate task id %s, first at %s", problem.Quote(t.ID.S), first.ID.Position()), "rename one of the tasks")
		default:
			t.ID.Problem(fmt.Sprintf("task id %s differs from %s (%s) only in case", problem.Quote(t.ID.S), problem.Quote(first.ID.S), first.ID.Position()), "rename one of the tasks")
		}
		b.byID[t.ID.S] = t
	}
	if len(b.all()) == 0 && len(b.Found.List) == 0 {
		b.manifests[0].Problem("missing tasks", "add at least one under tasks:, with an id and a prompt")
	}
}

// checkManifests checks what manifests name at their top, used or not.
func (b *builder) checkManifests() {
	b.override = map[*manifest.Manifest]*profiles.Profile{}
	prices := map[string]manifest.Price{}
	for _, m := range b.manifests {
		m.Profiles.All()
		if b.Options.Overrides.Profile != "" {
			b.override[m] = form.Pointer(b.Profile(b.Options.Overrides.Profile, "--profile", m.Profiles))
		}
		if b.Options.Overrides.Model == "" {
			b.chainAt(m.Models)
		}
		if m.Profile != nil {
			profileAt(m, *m.Profile)
		}
		b.checkUnknownPrices(m)
		for _, p := range m.Prices {
			if what, fix := b.provider(p.Model); what != "" && !slices.Contains(manifest.LaterProviders, manifest.PrefixOf(p.Model)) {
				p.KeyProblem(what, fix)
			}
			b.checkPrice(p)
			before, twice := prices[p.Model]
			if twice && tasks.Digest(before.Price) != tasks.Digest(p.Price) {
				p.KeyProblem(fmt.Sprintf("the price of %s differs from the one at %s", problem.Quote(p.Model), before.RuleSource()), "state it once")
			}
			prices[p.Model] = p
		}
	}
}

// assemble makes the plan of the selected jobs.
func (b *builder) assemble(paths []string, drafts []*draft) *tasks.Plan {
	p := &tasks.Plan{
		Name:              cmp.Or(b.manifests[0].Name, manifest.BaseName(paths[0])),
		Manifests:         slices.Clone(paths),
		AllowDirty:        true,
		AllowUnknownPrice: true,
		Prices:            map[string]money.Price{},
	}
	for _, m := range b.manifests {
		p.AllowDirty = p.AllowDirty && m.AllowDirty
		p.AllowUnknownPrice = p.AllowUnknownPrice && m.AllowUnknownPrice
		p.Parallel = lower(p.Parallel, m.Parallel)
		p.Clones = max(p.Clones, m.Clones)
		p.Budget = tasks.Budget{CostUSD: lower(p.Budget.CostUSD, m.Budget.CostUSD), Time: lower(p.Budget.Time, m.Budget.Time)}
		p.Profiles = append(p.Profiles, m.Profiles.All()...)
		for _, price := range m.Prices {
			p.Prices[price.Model] = price.Price
		}
	}
	for _, policy := range b.Options.Policies {
		maps.Copy(p.Prices, policy.Prices)
	}
	if b.Options.Names != nil {
		p.Manifests = slices.Clone(b.Options.Names)
	}
	o := b.Options.Overrides
	p.Parallel = cmp.Or(o.Parallel, p.Parallel, b.defaults.Parallel)
	p.Clones = cmp.Or(p.Clones, b.defaults.Clones)
	p.Budget = tasks.Budget{CostUSD: lower(p.Budget.CostUSD, o.MaxCost), Time: lower(p.Budget.Time, o.MaxTime)}
	p.Policies, p.Follow = b.Options.Policies, planFollow(b.manifests)
	if most := p.Policies.RunCap(); most.USD > 0 && lower(p.Budget.CostUSD, most.USD) != p.Budget.CostUSD {
		p.Budget.CostUSD = most.USD
		b.Found.Note(fmt.Sprintf("the run's budget is $%v, by budget (%s)", most.USD, most.Source))
	}
	p.Jobs = make([]tasks.Job, len(drafts))
	for i, d := range drafts {
		p.Jobs[i] = d.job
		p.Jobs[i].Index, p.Jobs[i].Hash = i+1, d.hash()
		p.Jobs[i].Beside = beside(p.Policies, d.task.Manifest.Src)
	}
	b.equip(p)
	grantWorkspaces(p)
	protectGranted(p)
	p.Sources, p.Uses = b.Lists.Planned(), b.Inputs.Uses
	p.Hash = b.hash(p)
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
func locate(u *form.Uses, drafts []*draft, manifests []*manifest.Manifest) {
	for _, d := range drafts {
		u.Places["output of "+d.job.ID] = d.task.Value
		u.Places["job "+d.job.ID] = d.task.Value
		if d.repo != nil && d.repo.Src != nil {
			u.Places["job "+d.job.ID] = d.repo.Value
		}
	}
	for _, m := range manifests {
		if m.Rollout != nil {
			u.Places["rollout"] = m.Rollout.Value
		}
		if m.Proof.Node != nil {
			u.Places["evidence"] = m.Proof
		}
	}
}
