package expand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
)

// builder makes a plan of manifests. Each of its steps goes on after a
// problem, so that one run finds all of them.
type builder struct {
	*loaded
	defaults manifest.Manifest // of keys that no manifest sets
	graph    *taskGraph
	models   *modelNames
	choice   *profileChoice
	shared   *sharedDefinitions
	filler   *jobFiller
}

// newBuilder resolves what the manifests define for all jobs.
func newBuilder(l *loaded) *builder {
	b := &builder{loaded: l, defaults: form.WithDefaults((*manifest.Manifest).Keys), graph: newTaskGraph(l)}
	b.graph.checkNeeds()
	texts := &planTexts{getenv: l.Options.Getenv}
	b.models = &modelNames{l, newProviders(l, texts)}
	hosts := l.Lists.WithHosts(manifest.ForgesOf(l.manifests))
	b.shared = &sharedDefinitions{loaded: l, providers: b.models.providers, agents: newAgents(l, b.models, texts), texts: texts, forges: hosts}
	b.shared.define()
	b.choice = &profileChoice{otherwise: b.defaults.Profile.S, override: map[*manifest.Manifest]*profiles.Profile{}}
	b.filler = &jobFiller{l, b.shared.agents, b.models, b.choice, texts}
	return b
}

// plan runs the steps. It returns nil after a problem.
func (b *builder) plan(ctx context.Context, paths []string) (*tasks.Plan, error) {
	b.checkManifests()
	flagValues{b.loaded, b.models}.check()
	drafts := expandTasks(b.loaded)
	nameDrafts(drafts)
	common := map[*manifest.Task]settings{}
	for _, t := range b.all() {
		common[t] = b.filler.settingsOf(t)
	}
	for _, d := range drafts {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("load manifests: %w", context.Cause(ctx))
		}
		b.filler.fill(d, common[d.task])
	}
	checkBranches(drafts)
	checkOutputs(drafts)
	selected := b.graph.selected(drafts)
	checkPublishing(b.loaded, drafts, selected)
	rollout := planRollout(b.loaded, drafts)
	bars := &barNotes{found: b.Found, looked: map[*manifest.Task]int{}}
	for _, d := range selected {
		bars.named(d.task, &d.job)
		bars.change(d.task, d.job)
	}
	notes := b.graph.connect(drafts, selected)
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

// checkManifests checks what manifests name at their top, used or not.
func (b *builder) checkManifests() {
	prices := map[string]manifest.Price{}
	for _, m := range b.manifests {
		m.Profiles.All()
		if b.Options.Overrides.Profile != "" {
			b.choice.override[m] = form.Pointer(b.Profile(b.Options.Overrides.Profile, "--profile", m.Profiles))
		}
		if b.Options.Overrides.Model == "" {
			b.models.chainAt(m.Models)
		}
		if m.Profile != nil {
			profileAt(m, *m.Profile)
		}
		checkUnknownPrices(m)
		for _, p := range m.Prices {
			if what, fix := b.models.provider(p.Model); what != "" && !slices.Contains(manifest.LaterProviders, manifest.PrefixOf(p.Model)) {
				p.Value.KeyProblem(what, fix)
			}
			b.models.checkPrice(p)
			before, twice := prices[p.Model]
			if twice && tasks.Digest(before.Price) != tasks.Digest(p.Price) {
				p.Value.KeyProblem(fmt.Sprintf("the price of %s differs from the one at %s", problem.Quote(p.Model), before.Value.RuleSource()), "state it once")
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
		p.Jobs[i] = d.job.AtLeast(p.Policies.AfterUntrusted()) // the hash is that of the manifest: policies differ between machines
		p.Jobs[i].Index, p.Jobs[i].Hash = i+1, d.hash()
		p.Jobs[i].Beside = beside(p.Policies, d.task.Manifest.Src)
	}
	b.shared.equip(p, b.choice)
	grantWorkspaces(p)
	protectGranted(p)
	p.Sources, p.Uses = b.Lists.Planned(), b.Inputs.Uses
	p.Hash = hashPlan(p, b.shared)
	b.shared.resolveBeside(p)
	return p
}

// locate records the locations of what a queue may refuse.
func locate(u *form.Uses, drafts []*draft, manifests []*manifest.Manifest) {
	for _, d := range drafts {
		u.Places["output of "+d.job.ID] = d.task.Value
		u.Places["job "+d.job.ID] = d.task.Value
		if d.repo != nil && d.repo.Value.Src != nil {
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
