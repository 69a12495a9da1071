package manifest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
)

// LoadProfile returns the profile that a command line names: a preset; a
// profile of the manifest, if one is given; or a YAML file that holds a
// profile's body (extends, permission, git, network, cache, env, examples),
// which is then called after the file. The error is a [problem.List], or that of
// standard input.
func LoadProfile(ctx context.Context, nameOrFile, manifest string, o tasks.Options) (permission.Profile, error) {
	name := "profile " + nameOrFile
	if manifest != "" {
		name += " of " + manifest
	}
	return Under(ctx, name, func() (permission.Profile, error) { return loadProfile(ctx, nameOrFile, manifest, o) })
}

func loadProfile(ctx context.Context, nameOrFile, manifest string, o tasks.Options) (permission.Profile, error) {
	l := NewLoader(ctx, o)
	l.Inputs.Ignored = true // only profiles are wanted, and standard input may be another's
	defined := profiles.NewSet()
	if manifest != "" {
		m, err := l.Manifest(ctx, manifest)
		if err != nil {
			return permission.Profile{}, err
		}
		if m != nil {
			defined = m.Profiles
			defined.Check(l.Names)
		}
	}
	var p profiles.Profile
	if err := l.Found.Err(); err == nil {
		p, _ = l.Profile(nameOrFile, "--profile", defined)
	}
	if err := l.Found.Err(); err != nil {
		return permission.Profile{}, err
	}
	return p.Profile, nil
}

// Profile finds what a flag names: a profile, or a file that holds one.
func (l *Loader) Profile(name, flag string, defined *profiles.Set) (profiles.Profile, bool) {
	if p, ok := defined.Find(name); ok {
		return p, true
	}
	if defined.Body(name) != nil {
		return profiles.Profile{}, false
	}
	path := userfile.Resolve(l.Options.Dir, name)
	if strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) || userfile.IsFile(path) {
		return l.profileFile(name, path, defined)
	}
	known := defined.Names()
	fix := l.Found.Suggest(name, known, "known profiles: ")
	l.Found.Add(problem.Problem{File: flag, What: "unknown profile " + problem.Quote(name), Fix: fix})
	return profiles.Profile{}, false
}

// profileFile reads a profile from a file of its own.
func (l *Loader) profileFile(name, path string, defined *profiles.Set) (profiles.Profile, bool) {
	src := l.source(name, filepath.Dir(path))
	if by, refused := form.RefusesPath(src.Policies, path); refused {
		what, fix := form.Refusal("the profile's path", by)
		l.Found.Add(problem.Problem{File: name, What: what, Fix: fix})
		return profiles.Profile{}, false
	}
	l.Inputs.Uses.Reads(path)
	data, err := userfile.ReadRegular(path, form.MaxFile)
	if err != nil {
		src.Unreadable(err)
		return profiles.Profile{}, false
	}
	root, ok := src.Parse(data)
	if !ok {
		return profiles.Profile{}, false
	}
	body := profiles.Read(root, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	body.Check(l.Names)
	return defined.Extend(body)
}
