package opencode

import (
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Profile returns the profile that Convert writes for an agent of a configuration, without a directory: for a task that
// names no agent if agent is "" or build. An agent without rules of its own has that of the configuration.
func Profile(config []byte, agent string) (permission.Profile, error) {
	dir, err := os.MkdirTemp("", "opencode")
	if err != nil {
		return permission.Profile{}, err
	}
	defer os.RemoveAll(dir)
	if agent == "" {
		agent = "build"
	}
	parsed, err := parse("opencode.json", config)
	if err != nil {
		return permission.Profile{}, err
	}
	merged := merged([]*node{parsed})
	c := newConverter(dir, Known{Provider: func(string) bool { return true }, LanguageServer: func(string) bool { return true }}, merged)
	c.guard.examine()
	global := c.profile(slices.Concat(rights(merged), c.off))
	p := global.decider(profile{})
	for _, section := range []string{"mode", "agent"} {
		if rules := rights(merged.get(section, agent)); rules != nil {
			p = c.agentProfile(agent, global, slices.Concat(rules, c.off)).decider(global)
		}
	}
	return p, c.guard.stopped()
}

// decider returns the profile as a run decides with it.
func (p profile) decider(parent profile) permission.Profile {
	decides, _ := permission.Preset(base)
	if decides.Name = p.extends; p.extends == own {
		decides.Rules = append(decides.Rules, written(parent.written)...)
	}
	decides.Rules = append(decides.Rules, written(p.written)...)
	return decides
}

// written returns the rules of a mapping of a profile.
func written(m mapping) []permission.Rule {
	var rules []permission.Rule
	add := func(name, pattern, effect string) {
		r := permission.Rule{Permission: name, Pattern: pattern, Source: "profile"}
		if effect == "allow" {
			r.Effect = permission.Allow
		}
		rules = append(rules, r)
	}
	for i := 0; i < len(m.node.Content); i += 2 {
		name, v := m.node.Content[i].Value, m.node.Content[i+1]
		if v.Value != "" {
			add(name, "*", v.Value)
		}
		for j := 0; j < len(v.Content); j += 2 {
			add(name, v.Content[j].Value, v.Content[j+1].Value)
		}
	}
	return rules
}

// check decides examples of what the rules match, in OpenCode and with the profile. It notes what only OpenCode allows, and
// stops at what only the profile allows.
func (c *converter) check(p profile, decides permission.Profile) {
	preset, _ := permission.Preset(base)
	for _, name := range append(toolNames(), permission.ExternalDirectory) {
		for _, subject := range examples(p.rules) {
			r := last(p.rules, name, subject)
			switch allowed := decides.Allows(name, subject); {
			case r == nil || allowed == r.allow:
			case allowed:
				c.guard.stop(r.at, "%s %q would be allowed", name, subject)
			case !everything(r.pattern) && !everything(r.name), everything(r.pattern) && preset.Allows(name, subject):
				c.note(r.at, "%s %q is denied, although OpenCode allows it: add a rule to the profile", name, subject)
			}
		}
	}
}

// last returns the rule that decides, nil for none.
func last(rules []rule, name, subject string) *rule {
	for i, r := range slices.Backward(rules) {
		if r.covers(name) && permission.Match(r.pattern, subject) {
			return &rules[i]
		}
	}
	return nil
}

// examples returns a subject for each pattern, and one that few match.
func examples(rules []rule) []string {
	all := []string{"zz"}
	for _, r := range rules {
		if strings.HasPrefix(r.pattern, "~") || strings.HasPrefix(r.pattern, "$HOME") { // of the home directory
			continue
		}
		all = append(all, strings.NewReplacer("*", "x", "?", "y").Replace(r.pattern), strings.TrimSuffix(r.pattern, " *"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
