package opencode

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/model/kinds"
)

// variable is OpenCode's reference to a variable of the environment.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{env:([A-Za-z_][A-Za-z0-9_]*)\}$`) })

// envName is the name of a variable.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// kindOf returns the kind of an endpoint that OpenCode calls with a package; "" for a protocol that millhand does not speak.
func kindOf(npm string) string {
	for _, name := range kinds.Names() {
		if k, _ := kinds.Lookup(name); slices.Contains(k.OpenCode, npm) {
			return cmp.Or(k.Manifest, k.Name)
		}
	}
	return ""
}

// providers converts the providers of a configuration and their models.
type providers struct {
	*notes
	known   Known
	defined *node
}

// endpoint returns millhand's name of a provider, and whether it is one of
// millhand's own; "" if it can't be used.
func (c providers) endpoint(name string) (known string, own bool) {
	switch name {
	case "togetherai":
		name = "together"
	case "fireworks-ai":
		name = "fireworks"
	case "gemini":
		name = "google"
	case "amazon-bedrock":
		name = "bedrock"
	case "google-vertex-anthropic":
		name = "vertex"
	}
	if c.known.Provider(name) {
		return name, true
	}
	if p := c.defined.get(name); kindOf(p.get("npm").text()) != "" && usableURL(p) || cloudKind(c.defined, name) != "" {
		return name, false
	}
	return "", false
}

// usableURL reports whether a manifest can have the address of a provider.
func usableURL(p *node) bool {
	url := p.get("options", "baseURL").text()
	if url == "" {
		url = p.get("api").text()
	}
	return url != "" && variable().FindStringSubmatch(url) == nil
}

// endpoints converts the providers that differ from millhand's own.
func (c providers) endpoints() mapping {
	all := newMapping()
	for _, id := range c.defined.keys {
		p := c.defined.get(id)
		name, own := c.endpoint(id)
		e := newMapping()
		kind := kindOf(p.get("npm").text())
		switch {
		case own && (kind == "" || name == kind || kind == "openai" && name != "bedrock" && name != "vertex"):
		case kind != "":
			e.set("kind", text(kind), "")
		default:
			c.note(p, "provider %s is not converted: millhand does not speak the protocol of %q", id, p.get("npm").text())
			continue
		}
		c.options(e, id, p)
		if !own && !slices.Contains(keys(e), "base_url") && cloudKind(c.defined, id) == "" {
			c.note(p, "provider %s is not converted: it has no baseURL", id)
			continue
		}
		if slices.Contains(keys(all), name) {
			c.note(p, "provider %s is not converted: another one is %s here, too", id, name)
			continue
		}
		c.timeouts(e, id, p.get("options"))
		c.models(e, id, p.get("models"))
		c.left(id, p)
		if !e.empty() {
			all.set(name, e.node, "")
		}
	}
	return all
}

// keyVariable converts the variables that may have the key: a manifest names one.
func (c providers) keyVariable(e mapping, id string, env *node) {
	switch {
	case len(env.items) == 1 && envName().MatchString(env.items[0].text()):
		e.set("key_env", text(env.items[0].text()), "")
	case len(env.items) > 0:
		c.note(env, "provider %s: env not converted: write the variable with the key as key_env", id)
	}
}

// left notes the keys of a provider that are not converted.
func (c providers) left(id string, p *node) {
	for _, key := range p.keys {
		switch key {
		case "name", "npm", "api", "env", "options", "models": // the name is a label
		default:
			c.note(p.get(key), "provider %s: %s not converted", id, key)
		}
	}
	converted := []string{"baseURL", "apiKey", "headers", "timeout", "chunkTimeout"}
	switch cloudKind(c.defined, id) {
	case "bedrock":
		converted = append(converted, "region", "profile", "endpoint")
	case "vertex":
		converted = append(converted, "project", "location")
	}
	for _, key := range p.get("options").keys {
		if !slices.Contains(converted, key) {
			c.note(p.get("options", key), "provider %s: options.%s not converted", id, key)
		}
	}
}

// options converts the endpoint, key and headers of a provider. Keys are never
// copied: a manifest is shared.
func (c providers) options(e mapping, id string, p *node) {
	o := p.get("options")
	at := o.get("baseURL")
	if endpoint := o.get("endpoint"); endpoint.text() != "" && cloudKind(c.defined, id) == "bedrock" {
		at = endpoint
	}
	if at.text() == "" {
		at = p.get("api")
	}
	to := endpoint{c, id, cloudKind(c.defined, id), o, e}
	to.address(at)
	key := o.get("apiKey")
	name := strings.ToUpper(strings.ReplaceAll(agentName(id), "-", "_")) + "_API_KEY"
	switch m := variable().FindStringSubmatch(key.text()); {
	case m != nil:
		e.set("key_env", text(m[1]), "")
	case key.text() != "":
		e.set("key_env", text(name), "")
		c.note(key, "provider %s: set the key in the variable %s; it is not copied to the manifest", id, name)
	default:
		c.keyVariable(e, id, p.get("env"))
	}
	if to.kind != "" {
		to.cloud()
	}
	headers := newMapping()
	for _, h := range o.get("headers").keys {
		v := o.get("headers", h)
		if m := variable().FindStringSubmatch(v.text()); m != nil {
			headers.set(h, text("${{ env."+m[1]+" }}"), "")
			continue
		}
		c.note(v, "provider %s: header %s is not copied, as it may be secret; write it with ${{ env.NAME }}", id, h)
	}
	if !headers.empty() {
		e.set("headers", headers.node, "")
	}
}
