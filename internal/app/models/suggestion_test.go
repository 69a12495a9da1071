package models

import (
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

func TestMisspeltModelHasSuggestionBeforeAdvice(t *testing.T) {
	for id, want := range map[string]string{
		"openai/gpt-5-mnii":      "did you mean openai/gpt-5-mini? Otherwise add it under prices:",
		"openai/gpt-5-mini-typo": "did you mean openai/gpt-5-mini? Otherwise add it under prices:",
		"openai/mine":            "can't be enforced: add it under prices:",
		"openai/gpx-mini-typo":   "can't be enforced: add it under prices:",
	} {
		p := &tasks.Plan{Jobs: []tasks.Job{{ID: "t", Model: id, ModelName: id, Limits: tasks.Limits{CostUSD: 1}}}}
		m := withPrices(p, process{getenv: func(string) string { return "" }, now: time.Now}, prices.BuiltIn())
		if err := m.Unpriced(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
		meant := strings.Contains(want, "mean")
		if list := m.Warnings(); len(list) != 1 || strings.Contains(list[0], "did you mean openai/gpt-5-mini?") != meant {
			t.Errorf("%s: warnings %q", id, list)
		}
	}
}
