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
