package runner

import (
	"path"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
)

// resultOf returns what earlier processes did of a job's sessions. schema is that of its
// final message, nil for none.
func resultOf(past *history.Facts, schema map[string]any) *ending.Result {
	r := ending.NoResult()
	if past == nil {
		return r
	}
	r.Attempts, r.Final, r.Review = past.Attempts, past.Final, event.LastReview(past.Reviews)
	if schema != nil && past.Final != "" {
		r.Output = session.Document(schema, past.Final)
	}
	for _, s := range past.Sessions {
		totals, _ := s.Totals()
		r.Totals = r.Totals.Plus(totals)
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
