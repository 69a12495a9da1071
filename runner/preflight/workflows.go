package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// workflows checks, before a job costs anything, that its push can contain changes of
// GitHub's workflows, if the job may make some: GitHub requires a permission of the token
// for them. A job whose tools may change workflows is refused without it; one whose
// commands could gets a rule that denies it.
func (p *checker) workflows(ctx context.Context, j tasks.Job, s *Start) error {
	if p.Forge == nil || !strings.HasPrefix(s.Remote.URL, "http") && !j.Commit.ByForge() || s.Below != "" || s.Earlier.Hash != "" || !mayInclude(j.Change.Paths, forge.WorkflowFiles) {
		return nil // keys of ssh need no permission
	}
	root := "/repository"
	if s.Origin != nil && s.Origin.Root() != "" {
		root = s.Origin.Root()
	}
	e := landing.EditsOf(j, root, s.Below)
	tools := slices.ContainsFunc([]string{".yml", ".yaml"}, func(ext string) bool {
		return e.Profile.MayEdit(e.Names(forge.WorkflowFiles + "/\x00" + ext)...)
	})
	commands := !e.Profile.Hides("bash") && !e.Profile.Locks(true, e.Names(forge.WorkflowFiles)...)
	if !tools && !commands {
		return nil
	}
	client, at, err := p.Forge(s.Remote.URL)
	if err != nil {
		return nil //nolint:nilerr // a server of unknown kind
	}
	if s.Pull.Client != nil {
		at = s.Pull.Repo // the fork may be missing
	}
	missing, known, err := client.Workflows(ctx, at)
	const what = "changes of " + forge.WorkflowFiles
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case known && missing == "":
	case known && tools:
		return refuse(event.CodeRemote, "publish: %s: the profile %s allows %s, and %s refuses to push them: %s; or deny edits of them in the profile", j.Publish, j.Profile.Name, what, client.Host(), missing)
	case known:
		s.NoWorkflows = missing
	case tools:
		why := client.Host() + " does not report whether the token may push them"
		if err != nil {
			why = err.Error()
		}
		p.warn(fmt.Sprintf("the profile %s allows %s: %s; of a fine-grained token or an app it requires the permission \"Workflows: write\"", j.Profile.Name, what, why))
	}
	return nil
}

// mayInclude reports whether globs, or none for all paths, can match something in a
// directory.
func mayInclude(globs []string, dir string) bool {
	return globs == nil || slices.ContainsFunc(globs, func(glob string) bool {
		start := glob
		if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
			start = glob[:i]
		}
		return strings.HasPrefix(dir+"/", start) || strings.HasPrefix(start, dir+"/")
	})
}

// WithoutWorkflows returns a job that may not change GitHub's workflows, because the token
// of its push may not.
func WithoutWorkflows(j tasks.Job, missing string) tasks.Job {
	return j.Protecting("token of the push", []permission.Rule{permission.Protect(forge.WorkflowFiles, "its push would be refused: "+missing)})
}
