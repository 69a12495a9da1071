package permission

// Narrowed returns the profile with rules that can only take away from it: what
// they deny is denied, and what they allow, or do not speak of, stays as it is.
// Hosts, caches and variables stay.
func (p Profile) Narrowed(name string, rules []Rule) Profile {
	all := Profile{Name: name, Network: p.Network, Cache: p.Cache, Env: p.Env}
	for _, permission := range []string{"*", ExternalDirectory, ExternalRead, Git} {
		all.Rules = append(all.Rules, Rule{Permission: permission, Pattern: "*", Effect: Allow, Source: name})
	}
	all.Rules = append(all.Rules, rules...)
	return p.Under(all.Clone())
}

// Within returns the profile below a network: it reaches what both its own
// network and this one allow. Its rules, caches and variables stay. name is what
// denials give as the source.
func (p Profile) Within(name string, n Network) Profile {
	p = p.Narrowed(name, nil)
	p.Ceiling.Network = n
	return p
}

// Reaches reports whether the profile has any network.
func (p Profile) Reaches() bool { return p.Network.Allow || len(p.Network.Hosts) > 0 }
