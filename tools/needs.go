package tools

import (
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/find"
	"github.com/millhand/millhand/tools/language"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/webfetch"
	"github.com/millhand/millhand/tools/websearch"
)

// outputs returns what truncates and saves outputs.
func (env *Env) outputs() outputs.Store {
	return outputs.Store{Dir: env.Outputs, Limits: env.Limits, Redact: env.Redact}
}

// paths returns the files that calls can name.
func (env *Env) paths() *access.Paths {
	return &access.Paths{
		Workspace: env.Workspace, Profile: &env.Profile, Home: proc.Value(env.ChildEnv, "HOME"),
		Outputs: env.Outputs, Private: env.Private, Skills: env.Skills, Scratch: &env.Commands.Scratch,
	}
}

// What each family of tools needs of the environment.

func (env *Env) fetching() webfetch.Env {
	return webfetch.Env{Profile: env.Profile, Accepts: env.Accepts}
}

func (env *Env) searching() websearch.Config { return env.Search }

func (env *Env) finding() find.Env {
	paths := env.paths()
	paths.Concealed = env.Untrusted.Conceals()
	return find.Env{Paths: paths, Ignore: env.Ignore, Searches: env.Changes.Searches()}
}

func (env *Env) languages() language.Env {
	return language.Env{Paths: env.paths(), Servers: env.Languages}
}

func (env *Env) files() file.Env {
	return file.Env{Env: env.languages(), Changes: env.Changes, Notes: env.Notes, Accepts: env.Accepts, MaxBytes: env.outputs().Bytes()}
}

func (env *Env) commands() command.Env {
	return command.Env{Paths: env.paths(), Options: env.Commands, Environ: env.ChildEnv, Hooks: env.Hooks, Store: env.outputs()}
}
