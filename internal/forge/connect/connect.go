// Package connect returns clients of forges of each kind. It sends no request.
package connect

import (
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/gitea"
	"github.com/millhand/millhand/internal/forge/github"
	"github.com/millhand/millhand/internal/forge/gitlab"
)

// Client returns a client of a forge.
func Client(o forge.Options) (*forge.Client, error) {
	s, err := forge.NewSender(o)
	if err != nil {
		return nil, err
	}
	var api forge.API
	switch o.Kind {
	case forge.GitHub:
		api, err = github.New(s)
	case forge.GitLab:
		api, err = gitlab.New(s)
	case forge.Gitea:
		api = gitea.New(s)
	}
	if err != nil {
		return nil, err
	}
	return forge.NewClient(s, api), nil
}
