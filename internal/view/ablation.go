package view

import (
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

// ablationEntry formats the cost of the trials before they start.
func ablationEntry(a *event.Ablation) entry {
	return info("ablate: %s and %s: at most %s of verify, or %s", figures.Count(a.Hunks, "hunk"), figures.Count(a.Tests, "test"), figures.Count(a.MaxRuns, "run"), figures.Duration(a.TimeMS))
}

func trialEntry(t *event.Trial) entry {
	if len(t.Failed) == 0 {
		return debug("ablate: verify passed (%s)", figures.Duration(t.ElapsedMS))
	}
	return debug("ablate: verify %s failed (%s)", strings.Join(t.Failed, ", "), figures.Duration(t.ElapsedMS))
}

func hunksEntry(h *event.Hunks) entry {
	text := h.Line()
	if h.Reason != "" {
		text += "; " + h.Reason
	}
	return info("ablate: %s (%s)", text, figures.Duration(h.ElapsedMS))
}
