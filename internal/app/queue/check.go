package queue

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// shortestLease is the shortest lease of a run: a worker renews it several times in that time.
const shortestLease = time.Second

// PlanName is no key of a job: where logs of a run are written, it names that of the run itself.
const PlanName = "run"

// check checks a run that a server returned. Its texts are used in names of subjects and of
// files, on workers and where reports are written.
func (r *Run) check(id string) error {
	switch {
	case r.ID != id || !isName(id):
		return fmt.Errorf("invalid id %q", r.ID)
	case r.Lease < shortestLease:
		return fmt.Errorf("invalid lease %s", r.Lease)
	case r.MaxDeliveries < 1 || r.CostUSD < 0:
		return errors.New("invalid limits")
	}
	known := map[string]bool{}
	for _, j := range r.Jobs {
		if !isName(j.Key) || j.Key == PlanName || known[j.Key] || j.ID == "" || strings.ContainsFunc(j.ID, unicode.IsControl) {
			return fmt.Errorf("invalid job %q with key %q", j.ID, j.Key)
		}
		known[j.Key] = true
	}
	for _, j := range r.Jobs {
		for _, need := range j.Needs {
			if !known[need] || need == j.Key {
				return fmt.Errorf("job %q needs the unknown job %q", j.ID, need)
			}
		}
	}
	return r.checkPaths()
}

// checkPaths checks that paths lead to inputs of the run: a worker has these below a directory
// of its own.
func (r *Run) checkPaths() error {
	inputs := map[string]bool{}
	for _, f := range r.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if !isPath(f.Path) || inputs[f.Path] || err != nil || len(sum) != 0 && len(sum) != 32 {
			return fmt.Errorf("invalid input %q", f.Path)
		}
		inputs[f.Path] = true
	}
	if r.Dir != "" && !isPath(r.Dir) {
		return fmt.Errorf("invalid directory %q", r.Dir)
	}
	for _, path := range r.Policies {
		if !inputs[path] {
			return fmt.Errorf("invalid policy %q", path)
		}
	}
	if r.Event != "" && !inputs[r.Event] {
		return fmt.Errorf("invalid event %q", r.Event)
	}
	for _, path := range r.Manifests {
		if !filepath.IsAbs(path) {
			if path = filepath.Join(strings.TrimLeft(r.Dir, string(filepath.Separator)), path); !filepath.IsLocal(path) {
				return fmt.Errorf("invalid manifest %q", path)
			}
			path = string(filepath.Separator) + path
		}
		if !inputs[path] {
			return fmt.Errorf("invalid manifest %q", path)
		}
	}
	return nil
}

// isPath reports whether a path stays below a directory that is put before it.
func isPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

// isName reports whether a text is safe in names of subjects and files.
func isName(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
