package profiles

import (
	"slices"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

var (
	// Network is the form of the addresses that commands and servers may reach.
	Network = form.Of[*permission.Network]{Type: form.Type{Name: "enum", Values: []string{"deny", "allow"}, Or: new(form.ListOf(form.String).Type)}, Read: readNetwork}
	// Host is the form of one host.
	Host             = form.Of[string]{Type: form.Type{Name: "string"}, Read: readHost}
	setupNetworkForm = form.Of[*setupNetwork]{Type: form.Type{Name: "enum", Values: []string{"registries", "deny", "allow"}, Or: new(form.ListOf(form.String).Type)}, Read: readSetupNetwork}
	setupHost        = form.Of[string]{Type: form.Type{Name: "string"}, Read: readSetupHost}
	// Cache is the form of the build caches that may be used.
	Cache     = form.Of[*[]string]{Type: form.Type{Name: "enum", Values: []string{permission.AutoCache, "none"}, Or: new(form.ListOf(form.String).Type)}, Read: readCache}
	cacheName = form.Of[string]{Type: form.Type{Name: "string"}, Read: readCacheName}
)

// readNetwork reads which addresses may be reached.
func readNetwork(v form.Value) (*permission.Network, bool) {
	switch v.Node.Value {
	case "deny":
		return &permission.Network{}, true
	case "allow":
		if v.Src.Policies.IsUntrusted() {
			v.Refused(policy.Hosts, "network access", "*")
		}
		return &permission.Network{Allow: true}, true
	case "":
		hosts, ok := form.ListOf(Host).Read(v)
		return &permission.Network{Hosts: hosts}, ok
	}
	v.Wrong("deny, allow or a list of hosts", "write one of them")
	return nil, false
}

// setupNetwork is what setup commands may reach; nil for the default.
type setupNetwork struct{ *permission.Network }

// readSetupNetwork reads which addresses setup commands may reach.
func readSetupNetwork(v form.Value) (*setupNetwork, bool) {
	switch v.Node.Value {
	case "registries":
		return &setupNetwork{}, true
	case "":
		hosts, ok := form.ListOf(setupHost).Read(v)
		return &setupNetwork{&permission.Network{Hosts: hosts}}, ok
	case "deny", "allow":
		n, ok := readNetwork(v)
		return &setupNetwork{n}, ok
	}
	v.Wrong("registries, deny, allow or a list of hosts", "write one of them")
	return nil, false
}

// readSetupHost reads a host for setup commands. If a policy bounds those, it decides,
// otherwise its hosts do.
func readSetupHost(v form.Value) (string, bool) {
	if v.Node.Value == permission.Registries {
		return permission.Registries, true
	}
	if v.Src.Policies.States(policy.SetupNetwork) {
		return hostWithin(v, policy.SetupNetwork)
	}
	return readHost(v)
}

func readHost(v form.Value) (string, bool) { return hostWithin(v, policy.Hosts) }

// hostWithin reads a host that a key of policies bounds.
func hostWithin(v form.Value, key policy.Key) (string, bool) {
	t, ok := v.Filled()
	if !ok {
		return "", false
	}
	if _, err := reach.Parse([]string{t.S}, false); err != nil {
		v.Problem("invalid host "+problem.Quote(t.S), "write its name alone, such as proxy.golang.org")
		return "", false
	}
	v.Refused(key, "the host "+problem.Quote(t.S), t.S)
	return t.S, ok
}

// readCache reads which build caches may be used.
func readCache(v form.Value) (*[]string, bool) {
	switch v.Node.Value {
	case permission.AutoCache:
		v.Refused(policy.Cache, "build caches", permission.AutoCache)
		return &[]string{permission.AutoCache}, true
	case "none":
		return &[]string{}, true
	case "":
		names, ok := form.ListOf(cacheName).Read(v)
		return &names, ok
	}
	v.Wrong("auto, none or a list of caches", "write for example [go]")
	return nil, false
}

func readCacheName(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if !ok {
		return "", false
	}
	var known []string
	for _, e := range ecosystem.All() {
		known = append(known, e.Name)
	}
	if !slices.Contains(known, t.S) {
		v.Problem("unknown cache "+problem.Quote(t.S), v.Src.Found.Suggest(t.S, known, "known caches: "))
		return "", false
	}
	v.Refused(policy.Cache, "the cache "+problem.Quote(t.S), t.S)
	return t.S, true
}

// caches returns the caches of a profile that names some and extends another one.
func caches(base, named []string) []string {
	if len(named) == 0 || slices.Contains(named, permission.AutoCache) {
		return named
	}
	return union(slices.DeleteFunc(slices.Clone(base), func(s string) bool { return s == permission.AutoCache }), named)
}
