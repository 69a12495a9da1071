package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// beside returns what the commands of a manifest can name: nothing if others wrote it.
func beside(policies policy.Set, src *form.Source) Beside {
	if policies.IsUntrusted() {
		return Beside{}
	}
	return Beside{Dir: src.Dir, Home: src.Home}
}

// define resolves what the manifests define for all jobs.
func (b *builder) define() {
	defineProviders(b)
	b.shared.forges = b.lists.withHosts(forgesOf(b.manifests))
	b.defineAgents()
	b.shared.search = gather(b.manifests, func(m *manifest) []definition[Search] { return m.search })
	b.shared.tools = gather(b.manifests, func(m *manifest) []definition[CustomTool] { return m.tools })
	b.shared.servers = servers(b)
	defineScripts(b)
	b.shared.hooks = hooks(b)
	b.shared.languageServers = languageServers(b)
	for _, m := range b.manifests {
		for _, s := range m.skills {
			if !slices.Contains(b.shared.skills, s) {
				b.shared.skills = append(b.shared.skills, s)
			}
		}
		m.profiles.check(b.names)
	}
}

// equip puts what define resolved into the plan.
func (b *builder) equip(p *Plan) {
	p.Providers = b.shared.providers
	p.Forges = b.shared.forges
	p.Commands = slices.ContainsFunc(b.manifests, func(m *manifest) bool { return len(m.commands) > 0 })
	p.AgentFiles = slices.ContainsFunc(b.manifests, func(m *manifest) bool { return len(m.agentFiles) > 0 })
	for _, d := range b.shared.agents {
		p.Agents = append(p.Agents, d.is)
	}
	for _, d := range b.shared.search {
		p.Search = d.is
	}
	for _, d := range b.shared.tools {
		p.Tools = append(p.Tools, d.is)
	}
	for _, d := range b.shared.servers {
		p.MCP = append(p.MCP, d.is.MCPServer)
	}
	if s := b.shared.scripts.settings; s.is.Used() || s.Node != nil {
		p.Scripts = s.is.Scripts
	}
	equipHooks(b, p)
	equipEvidence(b, p)
	p.LSP = planLSP(b)
	for _, s := range b.shared.skills {
		p.Skills = append(p.Skills, s.path)
	}
	for _, m := range b.manifests {
		p.Batch = p.Batch || m.batch
		p.Output = OutputLimits{Lines: lower(p.Output.Lines, m.output.Lines), Bytes: lower(p.Output.Bytes, m.output.Bytes)}
	}
	d := form.WithDefaults(outputLimitKeys)
	p.Output = OutputLimits{Lines: cmp.Or(p.Output.Lines, d.Lines), Bytes: cmp.Or(p.Output.Bytes, d.Bytes)}
}

// resolveBeside lets the programs of a plan find what they name next to their manifest.
func (b *builder) resolveBeside(p *Plan) {
	resolve := func(src *form.Source, command *[]string, readable *[]Readable) {
		*command, *readable = beside(p.Policies, src).resolveProgram(*command, p.Jobs)
	}
	for i := range p.Tools {
		resolve(b.shared.tools[i].Src, &p.Tools[i].Command, &p.Tools[i].Readable)
	}
	for i := range p.MCP {
		if s := &p.MCP[i]; s.Remote == nil {
			resolve(b.shared.servers[i].Src, &s.Process.Command, &s.Process.Readable)
		}
	}
	for i := range p.Hooks {
		resolve(b.shared.hooks[i].Src, &p.Hooks[i].Command, &p.Hooks[i].Readable)
	}
	for i, d := range b.shared.languageServers {
		s := &p.LSP.Servers[i].Process
		resolve(d.Src, &s.Command, &s.Readable)
	}
}

// equipEvidence sets the evidence of a plan: that of all manifests together is signed if any of
// them states it.
func equipEvidence(b *builder, p *Plan) {
	for _, m := range b.manifests {
		if m.proof.Node == nil {
			continue
		}
		if p.Evidence == nil {
			p.Evidence = &Evidence{Sign: SignNone, Sums: slices.Clone(b.sums)}
		}
		if m.evidence.Signed() {
			p.Evidence.Sign = SignSSH
		}
	}
}

// planFollow returns the settings of all manifests: the strictest of those that have them.
func planFollow(manifests []*manifest) *Follow {
	var all *Follow
	for _, m := range manifests {
		if m.follow == nil {
			continue
		}
		if all == nil {
			all = new(*m.follow)
			continue
		}
		all.On = slices.DeleteFunc(slices.Clone(all.On), func(c FollowCause) bool { return !slices.Contains(m.follow.On, c) })
		all.Attempts, all.CostUSD, all.Stale = lower(all.Attempts, m.follow.Attempts), lower(all.CostUSD, m.follow.CostUSD), lower(all.Stale, m.follow.Stale)
	}
	return all
}

// hooks resolves the hooks of all manifests.
func hooks(b *builder) []definition[hook] {
	all := gather(b.manifests, func(m *manifest) []definition[hook] {
		for i := range m.hooks {
			m.hooks[i].is.manifest = m
		}
		return m.hooks
	})
	total, seen := map[HookEvent]int{}, map[HookEvent]int{}
	for _, d := range all {
		total[d.is.On]++
	}
	for i := range all {
		h := &all[i].is
		if h.Name = string(h.On); total[h.On] > 1 {
			h.Name = fmt.Sprintf("%s[%d]", h.On, seen[h.On])
		}
		seen[h.On]++
	}
	return all
}

// equipHooks puts the hooks into the plan.
func equipHooks(b *builder, p *Plan) {
	for i := range b.shared.hooks {
		d := &b.shared.hooks[i]
		if h := &d.is; h.On.OfRun() {
			of := b.profileOf(&task{manifest: h.manifest}) // as of a task without one
			h.Profile = b.options.Policies.Under(of.Profile)
			d.digest = digest(d.digest, of.digest)
		}
		p.Hooks = append(p.Hooks, d.is.Hook)
	}
}

// languageServers resolves the language servers of all manifests.
func languageServers(b *builder) []definition[languageServer] {
	all := gather(b.manifests, func(m *manifest) []definition[languageServer] { return m.languageServers })
	for i, d := range all {
		fillProcess(&all[i].is.Process, b, d.is.process)
	}
	return all
}

// planLSP returns the language servers for the plan; nil for none. Of the manifests' settings for diagnostics
// the ones that wait least count.
func planLSP(b *builder) *LSP {
	if len(b.shared.languageServers) == 0 {
		return nil
	}
	all := &LSP{Wait: diagnosticsWait(b.manifests)}
	for _, d := range b.shared.languageServers {
		all.Servers = append(all.Servers, d.is.LanguageServer)
	}
	return all
}

func diagnosticsWait(manifests []*manifest) time.Duration {
	wait := time.Duration(0)
	for _, m := range manifests {
		if m.diagnostics.when == "off" {
			return 0
		}
		wait = lower(wait, m.diagnostics.wait)
	}
	if wait == 0 {
		return defaultWait
	}
	return wait
}

// servers resolves the MCP servers of all manifests.
func servers(b *builder) []definition[mcpServer] {
	all := gather(b.manifests, func(m *manifest) []definition[mcpServer] { return m.servers })
	for i, d := range all {
		fillProcess(&all[i].is.Process, b, d.is.process)
		if d.is.Remote != nil {
			fillRemote(d.is.Remote, b, d.is.remote)
		}
	}
	return all
}

// fillRemote sets the headers.
func fillRemote(r *Remote, b *builder, from remote) {
	r.Headers, r.Secrets = filledIn(b, from.headers), variablesIn(from.headers, b.options.Getenv)
}

// fillProcess sets the environment.
func fillProcess(p *Process, b *builder, from process) {
	p.Environment, p.Secrets = filledIn(b, from.environment), variablesIn(from.environment, b.options.Getenv)
}

// variablesIn returns the values of the variables of the environment in texts.
func variablesIn(all []template, getenv func(string) string) (secrets []string) {
	for _, t := range all {
		for _, s := range t.segments {
			if name, ok := strings.CutPrefix(s.variable, "env."); ok {
				secrets = append(secrets, getenv(name))
			}
		}
	}
	return secrets
}

// grantWorkspaces extends the write keys of processes: a directory that contains the repositories of all jobs
// includes their workspaces, wherever these are.
func grantWorkspaces(p *Plan) {
	extend := func(s *Process) {
		s.Workspace = s.Workspace || slices.ContainsFunc(s.Write, func(dir string) bool {
			return !slices.ContainsFunc(p.Jobs, func(j Job) bool {
				return j.Repo.Dir == "" || !pathtree.Within(form.RealDir(j.Repo.Dir), form.RealDir(dir))
			})
		})
	}
	for i := range p.MCP {
		extend(&p.MCP[i].Process)
	}
	extend(&p.Scripts.Process)
}

// protectGranted adds the protected paths of the presets to the profiles of jobs that allow no changes, if a
// program may change files there nevertheless.
func protectGranted(p *Plan) {
	if !slices.ContainsFunc(p.Grants(), func(g Grant) bool { return g.Workspace }) {
		return
	}
	for i := range p.Jobs {
		if j := &p.Jobs[i]; j.Script == nil && !j.Profile.MayChange() {
			j.Profile = j.Profile.Narrowed("preset edit", permission.Protected("preset edit"))
		}
	}
}

// defineProviders resolves the endpoints of all manifests.
func defineProviders(b *builder) {
	b.shared.endpoints = gather(b.manifests, func(m *manifest) []definition[provider] { return m.providers })
	b.shared.providers = map[string]Provider{}
	for _, d := range b.shared.endpoints {
		p := d.is.Provider
		p.Headers, p.Query = filledIn(b, d.is.headers), filledIn(b, d.is.query)
		for _, m := range d.is.models {
			b.checkFacts(d.Key.Value, m)
		}
		b.shared.providers[d.Key.Value] = p
	}
	b.shared.providerNames = slices.Sorted(maps.Keys(b.shared.providers))
}

// filledIn fills in texts that are the same for all jobs; nil for none.
func filledIn(b *builder, all []template) map[string]string {
	if len(all) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, t := range all {
		s := fromEnv(b, t)
		if strings.ContainsAny(s, "\r\n\x00") {
			t.Problem(t.Label+" contains a line break after its variables are filled in", "write one line")
		}
		out[t.Key.Value] = s
	}
	return out
}

// fromEnv fills in a text that is the same for all jobs: it knows no variables
// but those of the environment.
func fromEnv(b *builder, t template) string {
	for _, p := range t.segments {
		if p.variable != "" && !strings.HasPrefix(p.variable, "env.") {
			t.unknown(p, fmt.Sprintf("the variable %s is not known here", problem.Quote(p.variable)), "write ${{ env.NAME }}: this text is the same for all jobs")
			return ""
		}
	}
	out, _ := t.render(scope{getenv: b.options.Getenv})
	return out
}

// scriptDefinitions are the tool files and plugins of all manifests.
type scriptDefinitions struct {
	files, plugins []definition[ScriptFile]
	settings       definition[scripts] // with the files and plugins
}

// defineScripts resolves the tool files and plugins of all manifests.
func defineScripts(b *builder) {
	d := &b.shared.scripts
	d.files = gather(b.manifests, func(m *manifest) []definition[ScriptFile] { return m.toolFiles })
	d.plugins = gather(b.manifests, func(m *manifest) []definition[ScriptFile] { return m.plugins })
	d.settings = definition[scripts]{is: form.WithDefaults((*scripts).keys)}
	for _, given := range gather(b.manifests, func(m *manifest) []definition[scripts] { return m.scripts }) {
		d.settings = given
	}
	s := &d.settings.is
	fillProcess(&s.Process, b, s.process)
	for _, f := range d.files {
		s.ToolFiles = append(s.ToolFiles, f.is)
	}
	for _, f := range d.plugins {
		s.Plugins = append(s.Plugins, f.is)
	}
}

// hashScripts identifies the tool files and plugins; nil without any.
func hashScripts(b *builder) []string {
	d := b.shared.scripts
	if !d.settings.is.Used() {
		return nil
	}
	return slices.Concat(digests(d.files), digests(d.plugins), []string{d.settings.digest})
}
