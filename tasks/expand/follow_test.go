package expand

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

func TestFollowIsTheStrictestOfAllManifests(t *testing.T) {
	load := func(texts ...string) *tasks.Plan {
		t.Helper()
		files := map[string]string{}
		var names []string
		for i, text := range texts {
			name := string(rune('a'+i)) + ".yaml"
			files[name] = "version: 1\nmodel: openai/gpt-5-mini\n" + text + "\ntasks: [{id: " + string(rune('a'+i)) + ", prompt: x}]\n"
			names = append(names, name)
		}
		p, err := Load(t.Context(), names, options(dirWith(t, files)))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := load(""); p.Follow != nil {
		t.Errorf("without the key: %+v", p.Follow)
	}
	usd := func(text string) money.USD {
		v, err := money.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := []tasks.FollowCause{tasks.FollowConflict, tasks.FollowChecks, tasks.FollowReview}
	for _, c := range []struct {
		texts []string
		want  tasks.Follow
	}{
		{[]string{"follow: {}"}, tasks.Follow{On: all, Attempts: 2, CostUSD: usd("1"), Stale: 30 * 24 * time.Hour}},
		{[]string{"follow: {on: [review, checks], attempts: 3, cost: 0.5, stale: 36h}"}, tasks.Follow{On: []tasks.FollowCause{tasks.FollowChecks, tasks.FollowReview}, Attempts: 3, CostUSD: usd("0.5"), Stale: 36 * time.Hour}},
		{[]string{"follow: {attempts: 3, stale: 2d}", "follow: {on: [checks], cost: 0.25}", ""}, tasks.Follow{On: []tasks.FollowCause{tasks.FollowChecks}, Attempts: 2, CostUSD: usd("0.25"), Stale: 48 * time.Hour}},
	} {
		if d := cmp.Diff(&c.want, load(c.texts...).Follow); d != "" {
			t.Errorf("%q: %s", c.texts, d)
		}
	}
}
