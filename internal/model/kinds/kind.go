package kinds

import (
	"cmp"
	"slices"
)

// Kind is a provider, or a server of one's own that speaks like one.
type Kind struct {
	Name    string
	BaseURL string   // "" without a common default
	KeyEnv  []string // variables that hold the key; the first that is set counts
	BaseEnv []string // variables that hold another base URL; the first that is set counts
	Keyless bool     // works without a key
	Free    bool     // a server that users run themselves, which charges nothing
	Hosted  bool     // with a key, a free one may be that of its maker, which charges

	// Deployed models have the names that their users give them, so that manifests state the API of each.
	Deployed bool

	// TokenEnv are those of KeyEnv whose value is a bearer token, where keys have a header of
	// their own.
	TokenEnv []string
	// Cloud is whose login is used where no key is set; "" for kinds that only have keys.
	Cloud Cloud
	// LoginEnv are variables that show that the cloud is used.
	LoginEnv []string
	// Hosts are the ends of the hosts that are the cloud's own.
	Hosts []string
	// Unread are variables of the provider's own tools that runs do not read, as users may expect; init converts
	// CLAUDE_CODE_USE_*.
	Unread []string

	// First is a cheap model with a known price, for a first manifest; "" if the provider has none.
	First string

	// Manifest is its name as the kind of an endpoint, if that is another; that of provider openai is free
	// for every server of Chat Completions.
	Manifest string
	// The names that others have for it.
	OpenCode    []string // packages that OpenCode calls it with
	GenaiPrices string   // in the prices of genai-prices
	ModelsDev   string   // in the file of models.dev
	Telemetry   string   // in OpenTelemetry's conventions
}

// Cloud is one with a login of its own, as people call it.
type Cloud string

// The clouds.
const (
	AWS    Cloud = "AWS"
	Google Cloud = "Google Cloud"
	Azure  Cloud = "Azure" // logged in to only with a login in the manifest or a variable of LoginEnv: it has keys, too
)

// Lookup returns the kind of a name.
func Lookup(name string) (Kind, bool) {
	if name == "gemini" {
		name = "google"
	}
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return table[i], true
}

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, len(table))
	for i, k := range table {
		names[i] = k.Name
	}
	return names
}

// Prefixes returns the names of providers whose models can be called without an endpoint in the manifest.
func Prefixes() []string {
	var names []string
	for _, k := range table {
		if k.Manifest == "" {
			names = append(names, k.Name)
		}
	}
	return names
}

// OfEndpoint returns the name of the kind that an endpoint in a manifest has.
func OfEndpoint(name string) string {
	if i := slices.IndexFunc(table, func(k Kind) bool { return k.Manifest != "" && k.Manifest == name }); i >= 0 {
		return table[i].Name
	}
	return name
}

// Endpoints returns the kinds that an endpoint in a manifest can have.
func Endpoints() []string {
	var names []string
	for _, k := range table {
		if name := cmp.Or(k.Manifest, k.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
