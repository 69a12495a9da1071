package policy

import "github.com/millhand/millhand/internal/permission"

// ForStrangers returns the built-in policy for manifests from people that one
// doesn't trust: no more than the ceiling, which is preset readonly if it is nil,
// and nothing of this machine or of other hosts. It binds manifests; what the
// operator says stays as it is. The directories that a manifest may name are those
// of its own git repository, which package tasks adds.
func ForStrangers(ceiling *permission.Profile) Policy {
	if ceiling == nil {
		readonly, _ := permission.Preset("readonly")
		ceiling = &readonly
	}
	p := Policy{Name: Untrusted, MaxProfile: ceiling}
	nothing := []Key{Endpoints, Hosts, Env, Extensions, Cache, SetupNetwork, Budget}
	if !anyCommand(ceiling) {
		nothing = append(nothing, Setup, Verify)
	}
	for _, key := range nothing {
		p.Rules = append(p.Rules, Rule{Key: key, Source: Untrusted})
	}
	if !ceiling.Hides("bash") {
		// What a command has changed in place, another job would be led astray by.
		p.Rules = append(p.Rules, Rule{Key: InPlace, Source: Untrusted})
	}
	p.Rules = append(p.Rules, Rule{Key: Publish, Allow: []string{"none", "patch", "branch"}, Source: Untrusted})
	return p
}

// anyCommand reports whether a profile allows every command: one that allows a few
// would be exceeded by what a manifest has run before and after the agent.
func anyCommand(p *permission.Profile) bool {
	return p.Decide(permission.Request{Permission: "bash", Unknown: "any command"}).Allowed()
}
