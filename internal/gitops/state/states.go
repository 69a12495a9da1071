package state

import "github.com/go-git/go-git/v5/plumbing"

// States has paths that differ from a snapshot, each with a text that identifies its kind and
// content: equal texts mean that nothing has changed.
type States map[string]string

// The states of paths without content that can be compared.
const (
	stateDeleted = "deleted"
	stateRefused = "refused" // Commit would refuse it
)

// HasContent reports whether a state is that of a file or symlink that a commit can have.
func HasContent(state string) bool { return state != stateDeleted && state != stateRefused }

// Since returns the paths that differ from an earlier snapshot.
func (s *Snapshot) Since(earlier *Snapshot) States {
	all, was := States{}, earlier.ByPath()
	for path, now := range s.ByPath() {
		if now != was[path] && IsBelow(path, earlier.below) {
			all[path] = now.String()
		}
	}
	for path := range was {
		if _, ok := s.ByPath()[path]; !ok {
			all[path] = stateDeleted
		}
	}
	for path := range s.refused {
		if !earlier.refused[path] && IsBelow(path, earlier.below) {
			all[path] = stateRefused
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
			all[r.Path] = stateRefused
		}
	}
	return all
}

// Moved returns whether a path has the content of a file that was deleted.
func (cs *ChangeSet) Moved() func(path string) bool {
	deleted := map[plumbing.Hash]bool{}
	for _, e := range cs.edits {
		if e.after.Mode == 0 {
			deleted[e.before.Hash] = true
		}
	}
	return func(path string) bool { return deleted[cs.edits[path].after.Hash] }
}
