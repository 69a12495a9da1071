package manifest

import (
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/repolist"
)

func TestIncludeAndExcludeOfSources(t *testing.T) {
	for _, tt := range []struct {
		include, exclude []string
		name             string
		want             bool
	}{
		{nil, nil, "acme/api", true},
		{[]string{"acme/*"}, nil, "acme/api", true},
		{[]string{"api"}, nil, "acme/api", true},
		{[]string{"ap"}, nil, "acme/api", false},
		{[]string{"acme/*"}, nil, "acme/tools/api", false},
		{[]string{"acme/**"}, nil, "acme/tools/api", true},
		{[]string{"tools/*"}, nil, "acme/tools/api", true},
		{nil, []string{"*-archive"}, "acme/old-archive", false},
		{nil, []string{"acme/api"}, "acme/api", false},
		{[]string{"a*"}, []string{"api"}, "acme/api", false},
	} {
		s := tasks.Source{Kind: tasks.GitLab, Host: "gitlab.com", Owner: "acme", Include: tt.include, Exclude: tt.exclude}
		if got := repolist.Selects(s, tt.name); got != tt.want {
			t.Errorf("include %v, exclude %v: %s: got %t", tt.include, tt.exclude, tt.name, got)
		}
	}
}
