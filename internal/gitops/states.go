package gitops

// States has paths that differ from a snapshot, each with a text that identifies its kind and
// content: equal texts mean that nothing has changed.
type States map[string]string

// The states of paths without content that can be compared.
const (
	gone    = "deleted"
	refused = "refused" // Commit would refuse it
)

// Since returns the paths that differ from an earlier snapshot.
func (s *Snapshot) Since(earlier *Snapshot) States {
	all, was := States{}, earlier.files()
	for path, now := range s.files() {
		if now != was[path] && IsBelow(path, earlier.below) {
			all[path] = now.String()
		}
	}
	for path := range was {
		if _, ok := s.files()[path]; !ok {
			all[path] = gone
		}
	}
	for path := range s.refused {
		if !earlier.refused[path] && IsBelow(path, earlier.below) {
			all[path] = refused
		}
	}
	return all
}

// States returns the states of the changed paths.
func (cs *ChangeSet) States() States {
	all := make(States, len(cs.edits)+len(cs.Refused))
	for path, e := range cs.edits {
		all[path] = e.after.String()
	}
	for _, r := range cs.Refused {
		if _, ok := all[r.Path]; !ok {
			all[r.Path] = refused
		}
	}
	return all
}

// Moved reports whether a new file has the content of one that was deleted.
func (cs *ChangeSet) Moved(path string) bool {
	to, ok := cs.edits[path]
	if !ok || to.before.mode != 0 {
		return false
	}
	for _, e := range cs.edits {
		if e.after.mode == 0 && e.before.hash == to.after.hash {
			return true
		}
	}
	return false
}

// String identifies the kind and content.
func (s state) String() string {
	if s.mode == 0 {
		return gone
	}
	return s.mode.String() + " " + s.hash.String()
}
