package confinement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// granting are the directories of the test of the table.
type granting struct {
	t                       *testing.T
	work, rule, read, write string
	own                     tasks.Process
}

// ground returns the input of a sandbox with a profile that has rules, a network and a variable.
func (d granting) ground(preset string) Env {
	d.t.Helper()
	p, ok := permission.Preset(preset)
	if !ok {
		d.t.Fatal("preset not found")
	}
	p.Rules = append(p.Rules, permission.Rule{Permission: permission.ExternalRead, Pattern: d.rule + "/**", Effect: permission.Allow, Source: "m.yaml:1"})
	p.Network, p.Setup, p.Env = permission.Network{Hosts: []string{"profile.example"}}, &permission.Network{Hosts: []string{"setup.example"}}, []string{"OF_PROFILE"}
	return Env{
		Level: sandbox.Partial,
		Dirs:  Dirs{Workspace: d.work, Home: filepath.Join(d.t.TempDir(), "home"), Tmp: filepath.Join(d.t.TempDir(), "tmp")},
		Rules: Rules{Profile: p},
		Getenv: func(name string) string {
			return map[string]string{"OF_PROFILE": "x", "PATH": "/usr/bin", "OPENAI_API_KEY": "sk-1"}[name]
		},
	}
}

// kinds returns what the confinement of each kind of program starts from, by the row of the table.
func (d granting) kinds(preset string) map[string]Env {
	agent := d.ground(preset)
	agent.LockWorkspace()
	setup := d.ground(preset)
	setup.Profile = setup.Profile.ForSetup(nil, true)
	process := func(change func(*Env, tasks.Process)) Env {
		g := d.ground(preset)
		change(&g, d.own)
		return g
	}
	server := func(g *Env, s tasks.Process) {
		g.Profile = ProcessProfile(g.Profile, "mcp.x", s)
		g.lockFor(s)
	}
	return map[string]Env{
		"commands of the agent": agent,
		"`setup`":               setup,
		"`verify`":              d.ground(preset),
		"hooks of jobs": process(func(g *Env, _ tasks.Process) {
			h := tasks.Hook{Name: "before_tool"}
			g.Profile = HookProfile(g.Profile, h)
			s, _ := hookProcess(h, "")
			g.lockFor(s)
		}),
		"MCP servers":    process(server),
		"tool files and": process(server),
		"language servers": process(func(g *Env, s tasks.Process) {
			s.Network = permission.Network{} // it has no such key
			g.Profile = LanguageProfile(g.Profile, tasks.LanguageServer{Name: "x", Process: s})
			g.lockLanguage()
		}),
	}
}

// The table in docs/security.md has the grants that the code makes.
func TestTableOfGrants(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	d := granting{t: t, work: t.TempDir(), rule: t.TempDir(), read: t.TempDir(), write: t.TempDir()}
	d.own = tasks.Process{Read: []string{d.read}, Write: []string{d.write}, Network: permission.Network{Hosts: []string{"own.example"}}}
	free, bound := d.kinds("build"), d.kinds("review")
	for kind, g := range free {
		row := ""
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+kind) {
				row = line
			}
		}
		cells := strings.Split(row, " | ")
		if len(cells) != 6 {
			t.Errorf("no row %q", kind)
			continue
		}
		locked := bound[kind]
		is := func(what string, cell, has bool) {
			if cell != has {
				t.Errorf("%s: %s: %t in the table", kind, what, cell)
			}
		}
		writes := func(g Env) bool { return g.spec(nested{}).Workspace == d.work }
		is("writes the workspace", cells[1] == "yes", writes(g))
		is("writes it under review", cells[2] == "yes", writes(locked))
		grants := locked.spec(nested{}).Grants
		has := func(dir string, write bool) bool {
			return slices.Contains(grants, sandbox.NewGrant(dir, write))
		}
		is("rules", strings.Contains(cells[3], "rules"), has(d.rule, false))
		is("own read", strings.Contains(cells[3], "`read`"), has(d.read, false))
		is("own write", strings.Contains(cells[3], "`write`"), has(d.write, true))
		hosts := g.Profile.Network.Hosts
		is("network of the profile", cells[4] == "of the profile", slices.Contains(hosts, "profile.example"))
		is("network of setup", cells[4] == "`setup_network`", slices.Contains(hosts, "setup.example"))
		is("own network", cells[4] == "own `network`", slices.Contains(hosts, "own.example"))
		is("no network", cells[4] == "none", len(hosts) == 0)
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		is("variables of the profile", strings.Contains(cells[5], "of the profile"), proc.Value(g.Env, "OF_PROFILE") != "")
		if proc.Value(g.Env, "OPENAI_API_KEY") != "" {
			t.Errorf("%s: has a key", kind)
		}
	}
}
