package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// resultOf returns what earlier processes did of a job's sessions.
func resultOf(past *history.Facts, spec tasks.Job) *ending.Result {
	r := ending.NoResult()
	if past == nil {
		return r
	}
	r.Attempts, r.Final, r.Review, r.Hunks = past.Attempts, past.Final, event.LastReview(past.Reviews), past.Hunks
	if schema := agent.FinalSchema(spec); schema != nil && past.Final != "" {
		agent.Take(spec, session.End{Text: past.Final, Output: session.Document(schema, past.Final)}, r)
	}
	r.Models = event.ModelCosts(past.Escalated, past.CostByModel())
	for _, s := range past.Sessions {
		totals, _ := s.Totals()
		r.Totals = r.Totals.Plus(totals)
	}
	return r
}

// savedPatch returns the path of the patch that an earlier process has saved, and its SHA-256; "" for none.
func savedPatch(dir *files.Dir, job string) (name, digest string) {
	name = path.Join("patches", job+".patch")
	f, err := files.OpenIn(dir.Path(), name)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return name, ""
	}
	return name, hex.EncodeToString(h.Sum(nil))
}
