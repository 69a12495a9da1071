package opencode

import (
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// models converts the facts of the models of a provider.
func (c providers) models(e mapping, id string, n *node) {
	all := newMapping()
	for _, name := range n.keys {
		m := n.get(name)
		facts := newMapping()
		c.facts(facts, "provider "+id+": model "+name, m)
		sent := c.sent(id, name)
		switch {
		case facts.empty():
		case slices.Contains(keys(all), sent):
			c.note(m, "provider %s: model %s is not converted: %s is also the id of another", id, name, sent)
		default:
			all.set(sent, facts.node, "")
		}
	}
	if !all.empty() {
		e.set("models", all.node, "")
	}
}

// sent returns the name under which a provider gets a model, which the configuration may
// call differently.
func (c providers) sent(provider, model string) string {
	if id := c.defined.get(provider, "models", model, "id").text(); id != "" {
		model = id
	}
	return inGroup(c.defined, provider, model)
}

// facts converts one model.
func (c providers) facts(facts mapping, title string, m *node) {
	for _, key := range m.keys {
		v := m.get(key)
		switch {
		case key == "name" || key == "id": // a label, and see sent
		case key == "limit":
			c.limits(facts, title, v)
		case key == "cost":
			c.cost(facts, title, v)
		case key == "reasoning" && v.boolean() != "":
			facts.set("reasoning", plain(v.boolean()), "")
		case key == "attachment" && v.boolean() != "":
			if m.get("modalities", "input").items == nil {
				facts.set("vision", plain(v.boolean()), "")
			}
		case key == "modalities":
			c.modalities(facts, title, v)
		case key == "tool_call" && v.is(true): // every model gets tools
		default:
			c.note(v, "%s: %s not converted", title, key)
		}
	}
}

func (c providers) limits(facts mapping, title string, n *node) {
	for _, key := range n.keys {
		v := n.get(key)
		name := map[string]string{"context": "window", "output": "max_output"}[key]
		switch tokens := v.count(); {
		case tokens == 0: // unknown
		case name == "" || tokens < 0:
			c.note(v, "%s: limit.%s not converted", title, key)
		default:
			facts.set(name, plain(strconv.Itoa(tokens)), "")
		}
	}
}

func (c providers) modalities(facts mapping, title string, n *node) {
	for _, key := range n.keys {
		v := n.get(key)
		if key != "input" && key != "output" || !v.list {
			c.note(v, "%s: modalities.%s not converted", title, key)
			continue
		}
		image := false
		for _, item := range v.items {
			switch name := item.text(); {
			case name == "text":
			case name == "image" && key == "input":
				image = true
			default:
				c.note(item, "%s: modalities.%s %q not converted", title, key, name)
			}
		}
		if key == "input" {
			facts.set("vision", plain(strconv.FormatBool(image)), "")
		}
	}
}

// amount matches prices that a manifest can have.
var amount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,12})?$`) })

// cost converts prices, which are in USD per million tokens in both.
func (c providers) cost(facts mapping, title string, n *node) {
	c.prices(facts, title+": cost", n)
	over := n.get("context_over_200k")
	if !over.object || !slices.Contains(keys(facts), "input") {
		return
	}
	tier := newMapping()
	tier.set("above", plain("200000"), "")
	if c.prices(tier, title+": cost.context_over_200k", over) {
		facts.set("tiers", sequence(tier.node), "")
	}
}

// prices adds the prices of tokens, and reports whether there are any: without that of
// input or of output a manifest accepts none.
func (c providers) prices(to mapping, title string, n *node) bool {
	for _, key := range []string{"input", "output"} {
		if !amount().MatchString(n.get(key).number()) {
			c.note(n, "%s not converted: it needs input and output, in USD per million tokens", title)
			return false
		}
	}
	for _, key := range n.keys {
		v := n.get(key)
		switch {
		case slices.Contains([]string{"input", "output", "cache_read", "cache_write"}, key) && amount().MatchString(v.number()):
			to.set(key, plain(v.number()), "")
		case key == "context_over_200k" && v.object:
		default:
			c.note(v, "%s.%s not converted", title, key)
		}
	}
	return true
}

// timeouts converts the limits of the wait for a response, which are in milliseconds.
func (c providers) timeouts(e mapping, id string, o *node) {
	limits := newMapping()
	for _, t := range []struct{ from, to string }{{"chunkTimeout", "idle"}, {"timeout", "total"}} {
		v := o.get(t.from)
		switch ms := v.count(); {
		case ms > 0:
			limits.set(t.to, text((time.Duration(ms) * time.Millisecond).String()), "")
		case slices.Contains(o.keys, t.from):
			c.note(v, "provider %s: %s not converted: a response always has a limit; write timeouts: {%s: DURATION}", id, t.from, t.to)
		}
	}
	if !limits.empty() {
		e.set("timeouts", limits.node, "")
	}
}
