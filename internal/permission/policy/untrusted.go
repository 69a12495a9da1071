package policy

import "github.com/millhand/millhand/internal/permission"

// ForUntrusted returns the built-in policy for untrusted manifests: at most the
// given profile, preset readonly if it is nil, and no access to this machine or
// other hosts. It applies to manifests, not to the operator's settings. A
// manifest may name only directories in its own git repository, which package
// tasks adds.
func ForUntrusted(most *permission.Profile) Policy {
	if most == nil {
		readonly, _ := permission.Preset("readonly")
		most = &readonly
	}
	p := Policy{Name: Untrusted, MaxProfile: most}
	nothing := []Key{OutputFile, Endpoints, Hosts, Env, Extensions, Cache, Sign, SetupNetwork, Budget}
	if !anyCommand(most) {
		nothing = append(nothing, Setup, Verify)
	}
	for _, key := range nothing {
		p.Rules = append(p.Rules, Rule{Key: key, Source: Untrusted})
	}
	if !most.Hides("bash") {
		// Changes made in place by one job could mislead another.
		p.Rules = append(p.Rules, Rule{Key: InPlace, Source: Untrusted})
	}
	p.Rules = append(p.Rules, Rule{Key: Publish, Allow: []string{"none", "patch", "branch"}, Source: Untrusted})
	return p
}

// anyCommand reports whether a profile allows every command; otherwise a
// manifest could exceed it with commands that run before and after the agent.
func anyCommand(p *permission.Profile) bool {
	return p.Decide(permission.Request{Permission: "bash", Unknown: "any command"}).Allowed()
}
