package tasks

import (
	"reflect"
	"testing"
)

func TestRecordedListsAreThoseOfThePlan(t *testing.T) {
	all := []Listed{
		{
			Source:  Source{Kind: "gitlab", Host: "git.example.com", Owner: "acme", Topic: "go", Search: "api", Language: "Go", Archived: true, Forks: true, Include: []string{"acme/*"}, Exclude: []string{"acme/old"}},
			LeftOut: LeftOut{Archived: 1, Forks: 2, Empty: 3, Excluded: 4},
			Repos:   []ListedRepo{{Name: "acme/api", DefaultBranch: "main"}, {Name: "acme/web", DefaultBranch: "trunk"}},
		},
		{Source: Source{Kind: "github", Host: "github.com", Owner: "me", Include: []string{}, Exclude: []string{}}},
	}
	plan := &Plan{Sources: all}
	if got := RecordedLists(plan.RecordedSources()); !reflect.DeepEqual(got, all) {
		t.Errorf("lists %+v, want %+v", got, all)
	}
	if (&Plan{}).RecordedSources() != nil {
		t.Error("a plan without sources has some")
	}
}
