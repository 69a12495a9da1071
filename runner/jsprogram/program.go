package jsprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/extension"
	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// Program are compiled tool files and plugins in a directory.
type Program struct {
	dir      string
	compiled *jshost.Program
	modules  []jshost.Module
	optional []bool
	readable []string // directories of files that they may read while they run
	Absent   []string // warnings: optional plugins that were not compiled
}

// Compile compiles tool files and plugins into a directory. base reads files of the
// repository at root as of the base commit.
func Compile(s tasks.Scripts, root string, base func(name string) ([]byte, error), dir string) (*Program, error) {
	b := &scriptBuilder{Program: Program{dir: dir}}
	if root != "" {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, fmt.Errorf("find the repository: %w", err)
		}
		b.workspace = &jshost.Workspace{Dir: real, Read: base}
	}
	for _, f := range s.ToolFiles {
		if err := b.addToolFiles(f); err != nil {
			return nil, err
		}
	}
	for _, f := range s.Plugins {
		if err := b.addPlugin(f); err != nil {
			return nil, err
		}
	}
	compiled, err := jshost.Compile(b.entries, b.workspace)
	if err != nil && b.leaveOut() {
		compiled, err = jshost.Compile(b.entries, b.workspace)
	}
	if err != nil {
		return nil, err
	}
	for i, name := range compiled.Modules {
		b.modules[i].Module = name
	}
	b.compiled = compiled
	return &b.Program, compiled.Write(dir)
}

// scriptBuilder is a program while it is compiled.
type scriptBuilder struct {
	Program
	workspace *jshost.Workspace
	entries   []jshost.Entry
}

// path returns where a file is.
func (b *scriptBuilder) path(f tasks.ScriptFile) string {
	if f.Workspace {
		return filepath.Join(b.workspace.Dir, filepath.FromSlash(f.Path))
	}
	return f.Path
}

func (b *scriptBuilder) add(f tasks.ScriptFile, file string, isPlugin bool) {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if isPlugin && base == "index" {
		base = filepath.Base(f.Path)
	}
	b.entries = append(b.entries, jshost.Entry{Path: file, Name: f.Name})
	b.modules = append(b.modules, jshost.Module{Name: f.Name, Base: base, Plugin: isPlugin, Options: f.Options})
	b.optional = append(b.optional, f.Optional)
}

// addToolFiles adds a tool file, or those of a directory. In a repository those that an agent has added
// are left out.
func (b *scriptBuilder) addToolFiles(f tasks.ScriptFile) error {
	path := b.path(f)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("tool file %s: %w", f.Name, err)
	case !info.IsDir():
		b.add(f, path, false)
		return nil
	}
	found := 0
	for _, file := range tasks.ToolFilesIn(path) {
		if f.Workspace {
			rel, err := filepath.Rel(b.workspace.Dir, file)
			if err != nil {
				return fmt.Errorf("tool file %s: %w", f.Name, err)
			}
			switch _, err := b.workspace.Read(filepath.ToSlash(rel)); {
			case errors.Is(err, state.ErrNoCommit):
				return fmt.Errorf("%s: %w", f.Name, err)
			case err != nil:
				continue
			}
		}
		b.add(f, file, false)
		found++
	}
	if found == 0 {
		return fmt.Errorf("%s has no tool files at the base commit", f.Name)
	}
	if !f.Workspace {
		b.readable = append(b.readable, path)
	}
	return nil
}

// addPlugin adds a file, or the one of a package.
func (b *scriptBuilder) addPlugin(f tasks.ScriptFile) error {
	path := b.path(f)
	info, err := os.Stat(path)
	switch {
	case err != nil && f.Optional:
		b.Absent = append(b.Absent, fmt.Sprintf("plugin %s is not loaded: %v; the job continues without it", f.Name, err))
		return nil
	case err != nil:
		return fmt.Errorf("plugin %s: %w", f.Name, err)
	case info.IsDir():
		manifest, err := os.ReadFile(filepath.Join(path, "package.json"))
		if err != nil {
			return fmt.Errorf("plugin %s: %w", f.Name, err)
		}
		entry, err := jshost.PackageEntry(manifest)
		if err != nil {
			return fmt.Errorf("plugin %s: %w", f.Name, err)
		}
		if !f.Workspace {
			b.readable = append(b.readable, path)
		}
		path = filepath.Join(path, filepath.FromSlash(entry))
	}
	b.add(f, path, true)
	return nil
}

// leaveOut removes optional plugins that can't be compiled, and reports whether there are any.
func (b *scriptBuilder) leaveOut() bool {
	removed := false
	for i := range slices.Backward(b.entries) {
		if !b.optional[i] {
			continue
		}
		if _, err := jshost.Compile(b.entries[i:i+1], b.workspace); err != nil {
			b.Absent = append(b.Absent, fmt.Sprintf("plugin %s is not loaded: %v; the job continues without it", b.entries[i].Name, err))
			b.entries, b.modules, b.optional = slices.Delete(b.entries, i, i+1), slices.Delete(b.modules, i, i+1), slices.Delete(b.optional, i, i+1)
			removed = true
		}
	}
	return removed
}

// Config launches the program among others, given the environment of the commands of its job or call. Its
// private directories have a name of their own in work.
func (p *Program) Config(ctx context.Context, others *confinement.Processes, s tasks.Scripts, g confinement.Env, root, work, own string) *extension.Scripts {
	command, err := p.launch(ctx, others, s, g, work, own)
	return &extension.Scripts{
		Scripts: s, Optional: p.optional, Command: command, Failed: err,
		Load: jshost.Load{Entries: p.modules, Directory: g.Workspace, Worktree: root, Project: filepath.Base(root)},
	}
}

func (p *Program) launch(ctx context.Context, others *confinement.Processes, s tasks.Scripts, g confinement.Env, work, own string) (proc.Command, error) {
	runtime, err := "", error(nil)
	if failed := g.Look(func() { runtime, err = jshost.FindRuntime(s.Runtime, g.Getenv("PATH")) }); failed != nil || err != nil {
		return proc.Command{}, errors.Join(failed, err)
	}
	dir := p.dir
	if g.Confines() && sandbox.OfOther(g.Workspace) {
		dir = filepath.Join(work, "scripts", own)
		if err := errors.Join(confinement.MakePrivate(dir), p.compiled.Write(dir), owner.AllAs(g.Workspace, dir)); err != nil {
			return proc.Command{}, err
		}
	}
	process := s.Process
	process.Command = jshost.Command(runtime, dir)
	g.Profile = confinement.ProcessProfile(g.Profile, "js", process)
	g.Readable = slices.Concat(g.Readable, []string{dir}, p.readable, p.compiled.Packages)
	return others.Launch(ctx, g, process, work, own)
}
