package runner

import (
	"path"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/history"
)

// resultOf returns what earlier processes did of a job's sessions. schema is that of its
// final message, nil for none.
func resultOf(past *history.Facts, schema map[string]any) *result {
	r := noResult()
	if past == nil {
		return r
	}
	r.attempts, r.final = past.Attempts, past.Final
	if schema != nil && past.Final != "" {
		r.output = session.Document(schema, past.Final)
	}
	for _, s := range past.Sessions {
		totals, _ := s.Totals()
		r.totals = r.totals.Plus(totals)
	}
	return r
}

// savedPatch returns the path of the patch that an earlier process has saved; "" for none.
func savedPatch(dir *files.Dir, job string) string {
	name := path.Join("patches", job+".patch")
	if !dir.Exists(name) {
		return ""
	}
	return name
}
