package provider

import (
	"strings"

	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/openai"
)

// known returns the name by which a kind knows what a model can do: its own, or that of the
// model that it is like. OpenRouter's names start with the maker's.
func (c Config) known(kind string) string {
	maker, bare, ok := strings.Cut(c.Like, "/")
	switch {
	case !ok:
		return c.Model
	case kind == "openrouter" && maker != kind:
		return c.Like
	}
	return bare
}

// abilities are the parameters that a model accepts where its maker serves it.
type abilities struct {
	temperature bool
	effort      openai.Effort // zero for none
}

// abilities returns those of the model that the model is like; false if its provider is
// unknown.
func (c Config) abilities() (a abilities, home Kind, ok bool) {
	maker, bare, _ := strings.Cut(c.Like, "/")
	home, ok = Lookup(maker)
	if !ok {
		return abilities{}, home, false
	}
	if home.speaks == messages {
		d := claudeOf(bare)
		if a.temperature = d.Temperature; d.Thinking != anthropic.ThinkingNone {
			a.effort = openai.AnyEffort()
		}
		return a, home, true
	}
	d := home.dialectOf(home.dialect, bare)
	a = abilities{d.Temperature, d.Effort}
	if thinks(bare) {
		a.effort = effortOf(bare)
	}
	return a, home, true
}

// able returns the dialect of a kind without what the model that the model is like does not
// accept. Of its own provider the names have already decided.
func (c Config) able(k Kind, d openai.Dialect) openai.Dialect {
	can, home, ok := c.abilities()
	if !ok || home.Name == k.Name {
		return d
	}
	d.Temperature = d.Temperature && can.temperature
	switch {
	case can.effort == openai.Effort{}:
		d.Effort = openai.Effort{}
	case d.Effort == openai.AnyEffort() && can.effort.Form == openai.EffortField:
		d.Effort = can.effort
	}
	return d
}

// claude returns the dialect of a model of the Messages API. One that is like another
// maker's model has the abilities of that.
func (c Config) claude() anthropic.Dialect {
	d := claudeOf(c.known("anthropic"))
	if can, _, ok := c.abilities(); ok && !strings.Contains(c.Like, "claude") {
		if d.Temperature = can.temperature; can.effort == (openai.Effort{}) {
			d.Thinking = anthropic.ThinkingNone
		}
	}
	return d
}
