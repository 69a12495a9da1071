package credentials

import (
	"fmt"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestRequires(t *testing.T) {
	entries := []tasks.Forge{
		{Host: "own.example.com", Kind: tasks.Gitea, TokenEnv: "OWN"},
		{Host: "app.example.com", Kind: tasks.GitHub, App: &tasks.GitHubApp{IDEnv: "APP_ID", KeyEnv: "A_KEY"}},
		{Host: "command.example.com", Kind: tasks.GitLab, Key: &tasks.KeySource{Command: []string{"true"}}},
		{Host: "gitlab.com", Kind: tasks.GitLab},
	}
	for _, c := range []struct {
		url     string
		publish tasks.PublishMode
		comment *tasks.Comment
		token   string // in MILLHAND_GIT_TOKEN
		want    string
	}{
		{"https://own.example.com/a/b", tasks.PublishPatch, nil, "", "[[OWN]]"}, // also to fetch
		{"https://app.example.com/a/b", tasks.PublishPush, nil, "", "[[APP_ID] [A_KEY]]"},
		{"https://command.example.com/a/b", tasks.PublishPR, nil, "t", "[]"},
		{"https://github.com/a/b", tasks.PublishPR, nil, "", "[[MILLHAND_GIT_TOKEN GITHUB_TOKEN GH_TOKEN]]"},
		{"https://github.com/a/b", tasks.PublishPatch, nil, "t", "[]"},
		{"https://github.com/a/b", tasks.PublishPatch, &tasks.Comment{Number: 1}, "", "[[MILLHAND_GIT_TOKEN GITHUB_TOKEN GH_TOKEN]]"},
		{"https://gitlab.com/a/b", tasks.PublishPush, nil, "t", "[[MILLHAND_GIT_TOKEN GITLAB_TOKEN CI_JOB_TOKEN]]"},
		{"https://git.example.com/a/b", tasks.PublishPush, nil, "", "[]"},
		{"https://git.example.com/a/b", tasks.PublishPush, nil, "t", "[[MILLHAND_GIT_TOKEN]]"},
		{"git@github.com:a/b", tasks.PublishPush, nil, "t", "[]"},
		{"ssh://git@own.example.com:2222/a/b", tasks.PublishPR, nil, "t", "[[OWN]]"},
		{"git@github.com:a/b", tasks.PublishPR, nil, "", "[[MILLHAND_GIT_TOKEN GITHUB_TOKEN GH_TOKEN]]"},
		{"file:///srv/a.git", tasks.PublishPush, nil, "t", "[]"},
	} {
		f := NewForges(entries, Options{Getenv: func(name string) string { return map[string]string{TokenVariable: c.token}[name] }})
		j := tasks.Job{Repo: tasks.Repo{Kind: tasks.RepoURL, URL: c.url}, Publish: c.publish, Comment: c.comment}
		if got := fmt.Sprint(f.Requires(j)); got != c.want {
			t.Errorf("%s, %s requires %s, want %s", c.url, c.publish, got, c.want)
		}
	}
}
