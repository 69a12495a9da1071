package expand

import (
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
)

// profileChoice chooses the profiles of tasks.
type profileChoice struct {
	otherwise string                                   // the name of that of a manifest without one
	override  map[*manifest.Manifest]*profiles.Profile // the command line's, as each manifest understands it
}

// profileOf returns a task's profile: the command line's, its own or its
// manifest's.
func (c *profileChoice) profileOf(t *manifest.Task) profiles.Profile {
	m := t.Manifest
	written, _ := m.Profiles.Find(c.otherwise)
	switch {
	case t.Profile != nil:
		written = profileAt(m, *t.Profile)
	case m.Profile != nil:
		written = profileAt(m, *m.Profile)
	}
	if p := c.override[m]; p != nil {
		return *p
	}
	return written
}

// profileAt finds a profile that a manifest names.
func profileAt(m *manifest.Manifest, name form.Text) profiles.Profile {
	p, ok := m.Profiles.Find(name.S)
	if !ok && m.Profiles.Body(name.S) == nil {
		name.Problem("unknown profile "+problem.Quote(name.S), name.Src.Found.Suggest(name.S, m.Profiles.Names(), "known profiles: "))
	}
	return p
}
