package changes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
)

func TestUntrackedFilesAreSummarized(t *testing.T) {
	kinds := map[string]state.Kind{
		"local.mk": state.Added, "a/.env": state.Modified, "node_modules/a/x": state.Added, "node_modules/b/node_modules/y": state.Added,
		"web/target/x": state.Added, "web/target/y": state.Deleted, "target.mk": state.Deleted, "distant/x": state.Added,
	}
	want := []event.Untracked{
		{Path: "a/.env", Kind: "modified", Files: 1},
		{Path: "distant/x", Kind: "added", Files: 1},
		{Path: "local.mk", Kind: "added", Files: 1},
		{Path: "node_modules/", Kind: "added", Files: 2},
		{Path: "target.mk", Kind: "deleted", Files: 1},
		{Path: "web/target/", Kind: "modified", Files: 2},
	}
	if diff := cmp.Diff(want, summarize(kinds, 6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 50 {
		kinds[fmt.Sprintf("logs/%d/deep/%d.log", i%5, i)] = state.Added
	}
	want = []event.Untracked{
		{Path: "a/.env", Kind: "modified", Files: 1},
		{Path: "distant/x", Kind: "added", Files: 1},
		{Path: "local.mk", Kind: "added", Files: 1},
		{Path: "logs/0/deep/", Kind: "added", Files: 10},
		{Path: "logs/1/deep/", Kind: "added", Files: 10},
		{Path: "logs/2/deep/", Kind: "added", Files: 10},
		{Path: "logs/3/deep/", Kind: "added", Files: 10},
		{Path: "logs/4/deep/", Kind: "added", Files: 10},
		{Path: "node_modules/", Kind: "added", Files: 2},
		{Path: "target.mk", Kind: "deleted", Files: 1},
		{Path: "web/target/", Kind: "modified", Files: 2},
	}
	if diff := cmp.Diff(want, summarize(kinds, 11)); diff != "" {
		t.Errorf("at most 11 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]event.Untracked{{Path: "./", Kind: "modified", Files: 58}}, summarize(kinds, 1)); diff != "" {
		t.Errorf("at most 1 (-want +got):\n%s", diff)
	}
	if got := summarize(nil, 6); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
