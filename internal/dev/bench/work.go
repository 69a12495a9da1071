//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// bench is the state that all measurements share.
type bench struct {
	dir      string // private
	worktree string // private: where millhand creates worktrees
	root     string // of the module
	millhand string // the program, built
	self     string // this program
	original string // the generated repository
	paths    []string
	copies   int    // of it, so far
	repo     string // the last of them
	endpoint *endpoint
}

// openBench generates a repository of the given number of files. It measures the program
// at the given path, or builds it.
func openBench(ctx context.Context, dir, program string, files int) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bench{
		dir: dir, millhand: program, self: self,
		original: filepath.Join(dir, "original"),
	}
	for _, name := range []string{"home", "original"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return nil, err
		}
	}
	if b.root, err = output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")); err != nil {
		return nil, err
	}
	if program == "" {
		b.millhand = filepath.Join(dir, "millhand")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.millhand, ".") // as releases are built
		build.Dir, build.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
		if _, err := output(build); err != nil {
			return nil, err
		}
	}
	if b.worktree, err = worktreeDir(dir); err != nil {
		return nil, err
	}
	if b.endpoint, err = listen(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.worktree))
	}
	b.paths, err = b.generate(ctx, b.original, files)
	if err != nil {
		err = errors.Join(err, b.close())
	}
	return b, err
}

// worktreeDir creates the directory for worktrees, in memory if possible: every run
// removes its worktree, and for half a minute after that ext4 is many times slower at
// creating the next one, which would distort the figures.
func worktreeDir(dir string) (string, error) {
	if tmp, err := os.MkdirTemp("/dev/shm", "millhand-bench-"); err == nil {
		return tmp, nil
	}
	return os.MkdirTemp(dir, "tmp-")
}

// close stops the server and removes files outside of b.dir.
func (b *bench) close() error {
	b.endpoint.close()
	return os.RemoveAll(b.worktree)
}

// work is a conversation and the usage of each round.
type work struct {
	turns, rounds             int
	floor, bare, plain, usual []usage
}

// contestant is a program that runs a work.
type contestant struct {
	name    string
	commit  string // the manifest's key commit; "" for the floor, which has no manifest
	branch  string // where the changes land; "" for the work tree
	sandbox string // the flag --sandbox
	took    *[]usage
}

// contestants returns the floor, millhand in place without a commit, without and with the
// sandbox, and millhand with defaults: in a linked worktree, with a commit.
func (w *work) contestants() []contestant {
	return []contestant{
		{"the floor", "", "", "", &w.floor},
		{"millhand without the sandbox and the commit", "false", "", "off", &w.bare},
		{"millhand without the commit", "false", "", "auto", &w.plain},
		{"millhand", "{branch: millhand/count}", "millhand/count", "auto", &w.usual},
	}
}

// manifest returns the manifest for millhand.
const manifest = `version: 1
name: bench
model: openai/gpt-5-mini
profile: build
limits: {turns: 10000, cost: 10000, time: 1h, tokens: 1000000000000}
repos: [{path: %q}]
tasks: [{id: count, prompt: %q, commit: %s}]
`

// arguments returns the command line of a contestant that works in a repository. The
// manifest and the report have names that start with b.repo.
func (b *bench) arguments(c contestant, repo string) ([]string, error) {
	if c.commit == "" {
		return []string{b.self, "-floor", b.endpoint.url}, nil
	}
	file := b.repo + ".yaml"
	if err := os.WriteFile(file, fmt.Appendf(nil, manifest, repo, instruction, c.commit), 0o644); err != nil {
		return nil, err
	}
	return []string{b.millhand, "run", file, "--sandbox", c.sandbox, "--report-dir", b.repo + "-report"}, nil
}

// play runs every contestant in turn, once to warm up and then for each round.
func (b *bench) play(ctx context.Context, w *work) error {
	text, err := conversation(b.paths, w.turns, allTools)
	if err != nil {
		return err
	}
	s, err := script.Parse(text, fmt.Sprintf("the script of %d turns", w.turns))
	if err != nil {
		return err
	}
	for round := range w.rounds + 1 {
		want := "" // the tree that the floor leaves
		for _, c := range w.contestants() {
			took, tree, err := b.once(ctx, c, s, w.turns)
			if err != nil {
				return fmt.Errorf("%s, %d turns: %w", c.name, w.turns, err)
			}
			if want == "" {
				want = tree
			}
			if tree != want {
				return fmt.Errorf("%s, %d turns: tree %s differs from the floor's %s", c.name, w.turns, tree, want)
			}
			if round > 0 {
				*c.took = append(*c.took, took)
			}
			fmt.Fprintf(os.Stderr, "%d turns, round %d of %d, %s: %s\n", w.turns, round, w.rounds, c.name, took.wall.Round(time.Millisecond))
		}
	}
	return nil
}

// once runs a script on a fresh copy of the repository, and returns the resulting tree.
func (b *bench) once(ctx context.Context, c contestant, s *script.Script, turns int) (usage, string, error) {
	if err := b.fresh(ctx); err != nil {
		return usage{}, "", err
	}
	args, err := b.arguments(c, b.repo)
	if err != nil {
		return usage{}, "", err
	}
	server := wiretest.New(s)
	b.endpoint.play(server)
	took, err := b.endpoint.measure(b.command(ctx, b.repo, args...))
	if err := errors.Join(append(server.Problems(), err)...); err != nil {
		return took, "", err
	}
	if n := server.Served(); n != turns+1 {
		return took, "", fmt.Errorf("sent %d requests, want %d turns including the final one", n, turns+1)
	}
	tree, err := b.tree(ctx, c.branch)
	return took, tree, err
}

// tree returns the hash of the tree of a branch, or of the work tree for "".
func (b *bench) tree(ctx context.Context, branch string) (string, error) {
	if branch != "" {
		return output(b.command(ctx, b.repo, "git", "rev-parse", branch+"^{tree}"))
	}
	if _, err := output(b.command(ctx, b.repo, "git", "add", "-A")); err != nil {
		return "", err
	}
	return output(b.command(ctx, b.repo, "git", "write-tree"))
}
