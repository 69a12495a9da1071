package world

import (
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/proc"
)

// GitEnv returns the properties of the process that affect git.
func (w World) GitEnv() gitdir.Env {
	program, err := proc.Look("git", []string{"PATH=" + w.Getenv("PATH")})
	if err != nil {
		program = ""
	}
	return gitdir.Env{Home: w.Getenv("HOME"), XDGConfigHome: w.Getenv("XDG_CONFIG_HOME"), SystemConfig: "/etc/gitconfig", GitProgram: program, Now: w.Now, Sleep: w.Sleep}
}
