package expand

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// beside returns what the commands of a manifest can name: nothing if others wrote it.
func beside(policies policy.Set, src *form.Source) tasks.Beside {
	if policies.IsUntrusted() {
		return tasks.Beside{}
	}
	return tasks.Beside{Dir: src.Dir, Home: src.Home}
}

// sharedDefinitions are what the manifests define for all jobs.
type sharedDefinitions struct {
	*loaded
	providers       *providerSet
	agents          *agentSet
	texts           *planTexts
	forges          []tasks.Forge
	search          []form.Definition[tasks.Search] // at most one
	tools           []form.Definition[tasks.CustomTool]
	servers         []form.Definition[manifest.MCPServer]
	scripts         scriptDefinitions
	hooks           []form.Definition[manifest.Hook]
	languageServers []form.Definition[manifest.LanguageServer]
	skills          []manifest.SkillDir
}

// define resolves them. Providers and agents are resolved already.
func (d *sharedDefinitions) define() {
	d.search = manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[tasks.Search] { return m.Search })
	d.tools = manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[tasks.CustomTool] { return m.Tools })
	d.servers = d.gatherServers()
	d.scripts = d.gatherScripts()
	d.hooks = gatherHooks(d.manifests)
	d.languageServers = d.gatherLanguageServers()
	for _, m := range d.manifests {
		for _, s := range m.Skills {
			if !slices.Contains(d.skills, s) {
				d.skills = append(d.skills, s)
			}
		}
		m.Profiles.Check(d.Names)
	}
}

// equip puts what define resolved into the plan.
func (d *sharedDefinitions) equip(p *tasks.Plan, choice *profileChoice) {
	p.Providers = d.providers.byName
	p.Forges = d.forges
	p.Commands = slices.ContainsFunc(d.manifests, func(m *manifest.Manifest) bool { return len(m.Commands) > 0 })
	p.AgentFiles = slices.ContainsFunc(d.manifests, func(m *manifest.Manifest) bool { return len(m.AgentFiles) > 0 })
	for _, one := range d.agents.defined {
		p.Agents = append(p.Agents, one.Is)
	}
	for _, one := range d.search {
		p.Search = one.Is
	}
	for _, one := range d.tools {
		p.Tools = append(p.Tools, one.Is)
	}
	for _, one := range d.servers {
		p.MCP = append(p.MCP, one.Is.MCPServer)
	}
	if s := d.scripts.settings; s.Is.Used() || s.Value.Node != nil {
		p.Scripts = s.Is.Scripts
	}
	d.equipHooks(p, choice)
	p.Evidence = planEvidence(d.manifests, d.Sums)
	p.LSP = planLSP(d.manifests, d.languageServers)
	for _, s := range d.skills {
		p.Skills = append(p.Skills, s.Path)
	}
	for _, m := range d.manifests {
		p.Batch = p.Batch || m.Batch
		p.Output = tasks.OutputLimits{Lines: lower(p.Output.Lines, m.Output.Lines), Bytes: lower(p.Output.Bytes, m.Output.Bytes)}
	}
	least := form.WithDefaults(manifest.OutputLimitKeys)
	p.Output = tasks.OutputLimits{Lines: cmp.Or(p.Output.Lines, least.Lines), Bytes: cmp.Or(p.Output.Bytes, least.Bytes)}
}

// resolveBeside lets the programs of a plan find what they name next to their manifest.
func (d *sharedDefinitions) resolveBeside(p *tasks.Plan) {
	resolve := func(src *form.Source, command *[]string, readable *[]tasks.Readable) {
		*command, *readable = beside(p.Policies, src).ResolveProgram(*command, p.Jobs)
	}
	for i := range p.Tools {
		resolve(d.tools[i].Value.Src, &p.Tools[i].Command, &p.Tools[i].Readable)
	}
	for i := range p.MCP {
		if s := &p.MCP[i]; s.Remote == nil {
			resolve(d.servers[i].Value.Src, &s.Process.Command, &s.Process.Readable)
		}
	}
	for i := range p.Hooks {
		resolve(d.hooks[i].Value.Src, &p.Hooks[i].Command, &p.Hooks[i].Readable)
	}
	for i, one := range d.languageServers {
		s := &p.LSP.Servers[i].Process
		resolve(one.Value.Src, &s.Command, &s.Readable)
	}
}

// planEvidence returns the evidence of a plan, nil for none: that of all manifests together is
// signed if any of them states it.
func planEvidence(manifests []*manifest.Manifest, sums []string) *tasks.Evidence {
	var all *tasks.Evidence
	for _, m := range manifests {
		if m.Proof.Node == nil {
			continue
		}
		if all == nil {
			all = &tasks.Evidence{Sign: tasks.SignNone, Sums: slices.Clone(sums)}
		}
		if m.Evidence.Signed() {
			all.Sign = tasks.SignSSH
		}
	}
	return all
}

// planFollow returns the settings of all manifests: the strictest of those that have them.
func planFollow(manifests []*manifest.Manifest) *tasks.Follow {
	var all *tasks.Follow
	for _, m := range manifests {
		if m.Follow == nil {
			continue
		}
		if all == nil {
			all = new(*m.Follow)
			continue
		}
		all.On = slices.DeleteFunc(slices.Clone(all.On), func(c tasks.FollowCause) bool { return !slices.Contains(m.Follow.On, c) })
		all.Attempts, all.CostUSD, all.Stale = lower(all.Attempts, m.Follow.Attempts), lower(all.CostUSD, m.Follow.CostUSD), lower(all.Stale, m.Follow.Stale)
	}
	return all
}

// gatherHooks resolves the hooks of all manifests.
func gatherHooks(manifests []*manifest.Manifest) []form.Definition[manifest.Hook] {
	var all []form.Definition[manifest.Hook]
	for _, m := range manifests {
		for _, d := range m.Hooks {
			d.Is.Manifest = m
			if !slices.ContainsFunc(all, func(o form.Definition[manifest.Hook]) bool { return o.Digest == d.Digest && o.Paths == d.Paths }) {
				all = append(all, d)
			}
		}
	}
	total, seen := map[tasks.HookEvent]int{}, map[tasks.HookEvent]int{}
	for _, d := range all {
		total[d.Is.On]++
	}
	for i := range all {
		h := &all[i].Is
		if h.Name = string(h.On); total[h.On] > 1 {
			h.Name = fmt.Sprintf("%s[%d]", h.On, seen[h.On])
		}
		seen[h.On]++
	}
	return all
}

// equipHooks puts the hooks into the plan.
func (d *sharedDefinitions) equipHooks(p *tasks.Plan, choice *profileChoice) {
	for i := range d.hooks {
		one := &d.hooks[i]
		if h := &one.Is; h.On.OfRun() {
			of := choice.profileOf(&manifest.Task{Manifest: h.Manifest}) // as of a task without one
			h.Profile = d.Options.Policies.Under(of.Profile)
			one.Digest = tasks.Digest(one.Digest, of.Digest)
		}
		p.Hooks = append(p.Hooks, one.Is.Hook)
	}
}

// gatherLanguageServers resolves the language servers of all manifests.
func (d *sharedDefinitions) gatherLanguageServers() []form.Definition[manifest.LanguageServer] {
	all := manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[manifest.LanguageServer] { return m.LanguageServers })
	for i, one := range all {
		p := &all[i].Is.Process
		p.Environment, p.Secrets = d.texts.filled(one.Is.Written.Environment)
	}
	return all
}

// planLSP returns the language servers for the plan; nil for none. Of the manifests' settings for diagnostics
// the ones that wait least count.
func planLSP(manifests []*manifest.Manifest, servers []form.Definition[manifest.LanguageServer]) *tasks.LSP {
	if len(servers) == 0 {
		return nil
	}
	all := &tasks.LSP{Wait: diagnosticsWait(manifests)}
	for _, d := range servers {
		all.Servers = append(all.Servers, d.Is.LanguageServer)
	}
	return all
}

func diagnosticsWait(manifests []*manifest.Manifest) time.Duration {
	wait := time.Duration(0)
	for _, m := range manifests {
		if m.Diagnostics.When == "off" {
			return 0
		}
		wait = lower(wait, m.Diagnostics.Wait)
	}
	if wait == 0 {
		return manifest.DefaultWait
	}
	return wait
}

// gatherServers resolves the MCP servers of all manifests.
func (d *sharedDefinitions) gatherServers() []form.Definition[manifest.MCPServer] {
	all := manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[manifest.MCPServer] { return m.Servers })
	for i, one := range all {
		p := &all[i].Is.Process
		p.Environment, p.Secrets = d.texts.filled(one.Is.Written.Environment)
		if r := one.Is.Remote; r != nil {
			r.Headers, r.Secrets = d.texts.filled(one.Is.WrittenRemote.HeaderTexts)
			resolveClient(r, one.Is.WrittenRemote.OAuthAt, d.texts.getenv)
		}
	}
	return all
}

// resolveClient resolves the variables of the client that requests tokens for a server. They are
// written at a value.
func resolveClient(r *tasks.Remote, at form.Value, getenv func(string) string) {
	o := r.OAuth
	if o == nil {
		return
	}
	o.ID, o.Secret = getenv(o.IDEnv), getenv(o.SecretEnv)
	for _, name := range []string{o.IDEnv, o.SecretEnv} {
		if name != "" && getenv(name) == "" {
			at.KeyProblem(fmt.Sprintf("the environment variable %s of oauth is not set", name), "set it")
		}
	}
	r.Secrets = append(r.Secrets, o.Secret)
}

// scriptDefinitions are the tool files and plugins of all manifests.
type scriptDefinitions struct {
	files, plugins []form.Definition[tasks.ScriptFile]
	settings       form.Definition[manifest.Scripts] // with the files and plugins
}

// gatherScripts resolves the tool files and plugins of all manifests.
func (d *sharedDefinitions) gatherScripts() scriptDefinitions {
	var all scriptDefinitions
	all.files = manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[tasks.ScriptFile] { return m.ToolFiles })
	all.plugins = manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[tasks.ScriptFile] { return m.Plugins })
	all.settings = form.Definition[manifest.Scripts]{Is: form.WithDefaults((*manifest.Scripts).Keys)}
	for _, given := range manifest.Gather(d.manifests, func(m *manifest.Manifest) []form.Definition[manifest.Scripts] { return m.Scripts }) {
		all.settings = given
	}
	s := &all.settings.Is
	s.Process.Environment, s.Process.Secrets = d.texts.filled(s.Written.Environment)
	for _, f := range all.files {
		s.ToolFiles = append(s.ToolFiles, f.Is)
	}
	for _, f := range all.plugins {
		s.Plugins = append(s.Plugins, f.Is)
	}
	return all
}
