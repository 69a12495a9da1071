package expand

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
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// beside returns what the commands of a manifest can name: nothing if others wrote it.
func beside(policies policy.Set, src *form.Source) tasks.Beside {
	if policies.IsUntrusted() {
		return tasks.Beside{}
	}
	return tasks.Beside{Dir: src.Dir, Home: src.Home}
}

// define resolves what the manifests define for all jobs.
func (b *builder) define() {
	defineProviders(b)
	b.shared.forges = b.Lists.WithHosts(manifest.ForgesOf(b.manifests))
	b.defineAgents()
	b.shared.search = manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[tasks.Search] { return m.Search })
	b.shared.tools = manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[tasks.CustomTool] { return m.Tools })
	b.shared.servers = servers(b)
	defineScripts(b)
	b.shared.hooks = hooks(b.manifests)
	b.shared.languageServers = languageServers(b)
	for _, m := range b.manifests {
		for _, s := range m.Skills {
			if !slices.Contains(b.shared.skills, s) {
				b.shared.skills = append(b.shared.skills, s)
			}
		}
		m.Profiles.Check(b.Names)
	}
}

// equip puts what define resolved into the plan.
func (b *builder) equip(p *tasks.Plan) {
	p.Providers = b.shared.providers
	p.Forges = b.shared.forges
	p.Commands = slices.ContainsFunc(b.manifests, func(m *manifest.Manifest) bool { return len(m.Commands) > 0 })
	p.AgentFiles = slices.ContainsFunc(b.manifests, func(m *manifest.Manifest) bool { return len(m.AgentFiles) > 0 })
	for _, d := range b.shared.agents {
		p.Agents = append(p.Agents, d.Is)
	}
	for _, d := range b.shared.search {
		p.Search = d.Is
	}
	for _, d := range b.shared.tools {
		p.Tools = append(p.Tools, d.Is)
	}
	for _, d := range b.shared.servers {
		p.MCP = append(p.MCP, d.Is.MCPServer)
	}
	if s := b.shared.scripts.settings; s.Is.Used() || s.Node != nil {
		p.Scripts = s.Is.Scripts
	}
	equipHooks(b, p)
	p.Evidence = planEvidence(b.manifests, b.Sums)
	p.LSP = planLSP(b.manifests, b.shared.languageServers)
	for _, s := range b.shared.skills {
		p.Skills = append(p.Skills, s.Path)
	}
	for _, m := range b.manifests {
		p.Batch = p.Batch || m.Batch
		p.Output = tasks.OutputLimits{Lines: lower(p.Output.Lines, m.Output.Lines), Bytes: lower(p.Output.Bytes, m.Output.Bytes)}
	}
	d := form.WithDefaults(manifest.OutputLimitKeys)
	p.Output = tasks.OutputLimits{Lines: cmp.Or(p.Output.Lines, d.Lines), Bytes: cmp.Or(p.Output.Bytes, d.Bytes)}
}

// resolveBeside lets the programs of a plan find what they name next to their manifest.
func (b *builder) resolveBeside(p *tasks.Plan) {
	resolve := func(src *form.Source, command *[]string, readable *[]tasks.Readable) {
		*command, *readable = beside(p.Policies, src).ResolveProgram(*command, p.Jobs)
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

// hooks resolves the hooks of all manifests.
func hooks(manifests []*manifest.Manifest) []form.Definition[manifest.Hook] {
	all := manifest.Gather(manifests, func(m *manifest.Manifest) []form.Definition[manifest.Hook] {
		for i := range m.Hooks {
			m.Hooks[i].Is.Manifest = m
		}
		return m.Hooks
	})
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
func equipHooks(b *builder, p *tasks.Plan) {
	for i := range b.shared.hooks {
		d := &b.shared.hooks[i]
		if h := &d.Is; h.On.OfRun() {
			of := b.profileOf(&manifest.Task{Manifest: h.Manifest}) // as of a task without one
			h.Profile = b.Options.Policies.Under(of.Profile)
			d.Digest = tasks.Digest(d.Digest, of.Digest)
		}
		p.Hooks = append(p.Hooks, d.Is.Hook)
	}
}

// languageServers resolves the language servers of all manifests.
func languageServers(b *builder) []form.Definition[manifest.LanguageServer] {
	all := manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[manifest.LanguageServer] { return m.LanguageServers })
	for i, d := range all {
		p := &all[i].Is.Process
		p.Environment, p.Secrets = filled(b, d.Is.Written.Environment)
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

// servers resolves the MCP servers of all manifests.
func servers(b *builder) []form.Definition[manifest.MCPServer] {
	all := manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[manifest.MCPServer] { return m.Servers })
	for i, d := range all {
		p := &all[i].Is.Process
		p.Environment, p.Secrets = filled(b, d.Is.Written.Environment)
		if r := d.Is.Remote; r != nil {
			r.Headers, r.Secrets = filled(b, d.Is.WrittenRemote.HeaderTexts)
		}
	}
	return all
}

// filled fills in texts of a server, and returns what of the environment is in them, too.
func filled(b *builder, texts []template.Template) (values map[string]string, secrets []string) {
	return filledIn(b, texts), variablesIn(texts, b.Options.Getenv)
}

// variablesIn returns the values of the variables of the environment in texts.
func variablesIn(all []template.Template, getenv func(string) string) (secrets []string) {
	for _, t := range all {
		for _, s := range t.Segments {
			if name, ok := strings.CutPrefix(s.Variable, "env."); ok {
				secrets = append(secrets, getenv(name))
			}
		}
	}
	return secrets
}

// grantWorkspaces extends the write keys of processes: a directory that contains the repositories of all jobs
// includes their workspaces, wherever these are.
func grantWorkspaces(p *tasks.Plan) {
	extend := func(s *tasks.Process) {
		s.Workspace = s.Workspace || slices.ContainsFunc(s.Write, func(dir string) bool {
			return !slices.ContainsFunc(p.Jobs, func(j tasks.Job) bool {
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
func protectGranted(p *tasks.Plan) {
	if !slices.ContainsFunc(p.Grants(), func(g tasks.Grant) bool { return g.Workspace }) {
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
	b.shared.endpoints = manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[manifest.Provider] { return m.Providers })
	b.shared.providers = map[string]tasks.Provider{}
	for _, d := range b.shared.endpoints {
		p := d.Is.Provider
		p.Headers, p.Query = filledIn(b, d.Is.HeaderTexts), filledIn(b, d.Is.QueryTexts)
		for _, m := range d.Is.Facts {
			b.checkFacts(d.Key.Value, m)
		}
		b.shared.providers[d.Key.Value] = p
	}
	b.shared.providerNames = slices.Sorted(maps.Keys(b.shared.providers))
}

// filledIn fills in texts that are the same for all jobs; nil for none.
func filledIn(b *builder, all []template.Template) map[string]string {
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
func fromEnv(b *builder, t template.Template) string {
	for _, p := range t.Segments {
		if p.Variable != "" && !strings.HasPrefix(p.Variable, "env.") {
			t.Unknown(p, fmt.Sprintf("the variable %s is not known here", problem.Quote(p.Variable)), "write ${{ env.NAME }}: this text is the same for all jobs")
			return ""
		}
	}
	out, _ := t.Render(template.Scope{Getenv: b.Options.Getenv})
	return out
}

// scriptDefinitions are the tool files and plugins of all manifests.
type scriptDefinitions struct {
	files, plugins []form.Definition[tasks.ScriptFile]
	settings       form.Definition[manifest.Scripts] // with the files and plugins
}

// defineScripts resolves the tool files and plugins of all manifests.
func defineScripts(b *builder) {
	d := &b.shared.scripts
	d.files = manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[tasks.ScriptFile] { return m.ToolFiles })
	d.plugins = manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[tasks.ScriptFile] { return m.Plugins })
	d.settings = form.Definition[manifest.Scripts]{Is: form.WithDefaults((*manifest.Scripts).Keys)}
	for _, given := range manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[manifest.Scripts] { return m.Scripts }) {
		d.settings = given
	}
	s := &d.settings.Is
	s.Process.Environment, s.Process.Secrets = filled(b, s.Written.Environment)
	for _, f := range d.files {
		s.ToolFiles = append(s.ToolFiles, f.Is)
	}
	for _, f := range d.plugins {
		s.Plugins = append(s.Plugins, f.Is)
	}
}

// hashScripts identifies the tool files and plugins; nil without any.
func hashScripts(d scriptDefinitions) []string {
	if !d.settings.Is.Used() {
		return nil
	}
	return slices.Concat(form.Digests(d.files), form.Digests(d.plugins), []string{d.settings.Digest})
}
