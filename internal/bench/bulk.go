//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/model/wiretest"
)

// parallel is the number of jobs that one process runs in parallel, compared to as many
// floors.
const parallel = 8

// together measures parallel jobs in one process against as many floors, each a separate
// process, that run in parallel.
func (b *bench) together(ctx context.Context, runs int) ([]row, error) {
	const turns = 20
	text, err := conversation(b.paths, turns, allTools)
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(text, "the script of parallel jobs")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d jobs of %d turns at once, in place", parallel, turns)
	wall := row{figure: what + ": wall", unit: "ms", goal: 2, ofRatio: true}
	peak := row{figure: what + ": peak memory", unit: "MiB", goal: 120}
	for i := range runs + 1 {
		floor, err := b.floors(ctx, wiretest.New(s))
		if err != nil {
			return nil, err
		}
		took, err := b.parallelJobs(ctx, wiretest.New(s), turns)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s, the floors %s\n", what, i, runs, took.wall.Round(time.Millisecond), floor.Round(time.Millisecond))
		if i > 0 {
			wall.millhand, wall.floor = append(wall.millhand, millis(took.wall)), append(wall.floor, millis(floor))
			peak.millhand = append(peak.millhand, float64(took.peak)/(1<<20))
		}
	}
	return []row{wall, peak}, nil
}

// freshRepos creates copies of the generated repository.
func (b *bench) freshRepos(ctx context.Context, n int) ([]string, error) {
	var repos []string
	for range n {
		if err := b.fresh(ctx); err != nil {
			return nil, err
		}
		repos = append(repos, b.repo)
	}
	return repos, nil
}

// floors runs one floor on each of several repositories, in parallel.
func (b *bench) floors(ctx context.Context, server *wiretest.Server) (time.Duration, error) {
	repos, err := b.freshRepos(ctx, parallel)
	if err != nil {
		return 0, err
	}
	b.endpoint.play(server)
	errs := make([]error, len(repos))
	var all sync.WaitGroup
	began := time.Now()
	for i, repo := range repos {
		all.Go(func() { _, errs[i] = output(b.command(ctx, repo, b.self, "-floor", b.endpoint.url)) })
	}
	all.Wait()
	took := time.Since(began)
	return took, errors.Join(append(server.Problems(), errs...)...)
}

// parallelJobs runs one process on as many repositories, in parallel.
func (b *bench) parallelJobs(ctx context.Context, server *wiretest.Server, turns int) (usage, error) {
	repos, err := b.freshRepos(ctx, parallel)
	if err != nil {
		return usage{}, err
	}
	var list strings.Builder
	for _, repo := range repos {
		fmt.Fprintf(&list, "  - {path: %q}\n", repo)
	}
	file := b.repo + "-together.yaml"
	text := fmt.Sprintf(`version: 1
name: bench
model: openai/gpt-5-mini
profile: build
jobs: %d
limits: {turns: 10000, cost: 10000, time: 1h, tokens: 1000000000000}
repos:
%stasks: [{id: count, prompt: %q, commit: false}]
`, parallel, list.String(), instruction)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return usage{}, err
	}
	b.endpoint.play(server)
	took, err := b.endpoint.measure(b.command(ctx, b.dir, b.millhand, "run", file, "--report-dir", b.repo+"-report"))
	if err := errors.Join(append(server.Problems(), err)...); err != nil {
		return took, err
	}
	if n, want := server.Served(), parallel*(turns+1); server.Fault == nil && n != want {
		return took, fmt.Errorf("sent %d requests, want %d", n, want)
	}
	return took, nil
}

// bulkJobs is the number of jobs of an instant model on one repository.
const bulkJobs = 50

// instant measures the cost of a job without its session: many sequential jobs of a
// model that responds immediately, against `git worktree add`, the same change, and
// `git commit`.
func (b *bench) instant(ctx context.Context, runs int) (row, error) {
	r := row{figure: fmt.Sprintf("%d jobs of an instant model on 5,000 files, beside git worktree add and git commit: wall a job", bulkJobs), unit: "ms", goal: 2, ofRatio: true}
	original := filepath.Join(b.dir, "five-thousand")
	if err := os.Mkdir(original, 0o755); err != nil {
		return r, err
	}
	if _, err := b.generate(ctx, original, 5000); err != nil {
		return r, err
	}
	for i := range runs + 1 {
		byGit, err := b.jobsByGit(ctx, original)
		if err != nil {
			return r, err
		}
		took, err := b.jobsByMillhand(ctx, original)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(os.Stderr, "%d jobs, round %d of %d: %s, git %s\n", bulkJobs, i, runs, took.Round(time.Millisecond), byGit.Round(time.Millisecond))
		if i > 0 {
			r.millhand, r.floor = append(r.millhand, millis(took)/bulkJobs), append(r.floor, millis(byGit)/bulkJobs)
		}
	}
	return r, nil
}

// jobsByGit creates a worktree, a change and a commit for each job, and removes the
// worktree.
func (b *bench) jobsByGit(ctx context.Context, original string) (time.Duration, error) {
	repo, err := b.cloned(ctx, original)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range bulkJobs {
		tree := filepath.Join(b.worktree, fmt.Sprintf("tree-%d", i))
		if _, err := output(b.command(ctx, repo, "git", "worktree", "add", "-q", "-b", fmt.Sprintf("job-%d", i), tree)); err != nil {
			return 0, err
		}
		if err := write(tree, "NOTICE", "Made by git.\n"); err != nil {
			return 0, err
		}
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "notice"}, {"worktree", "remove", "--force", tree}} {
			if _, err := output(b.command(ctx, tree, append([]string{"git"}, args...)...)); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(began), nil
}

// jobsByMillhand runs the same number of jobs on a copy of the same repository.
func (b *bench) jobsByMillhand(ctx context.Context, original string) (time.Duration, error) {
	repo, err := b.cloned(ctx, original)
	if err != nil {
		return 0, err
	}
	model := repo + "-turns.yaml"
	if err := os.WriteFile(model, []byte(`{"version": 1, "turns": [{"calls": [{"tool": "write", "args": {"filePath": "NOTICE", "content": "Made.\n"}}]}, {"text": "Done."}]}`), 0o644); err != nil {
		return 0, err
	}
	var numbers []string
	for i := range bulkJobs {
		numbers = append(numbers, fmt.Sprint(i))
	}
	file := repo + ".yaml"
	text := fmt.Sprintf("version: 1\nmodel: %q\nprofile: edit\njobs: 1\nrepos: [{path: %q}]\ntasks: [{id: notice, prompt: Add a notice., matrix: {n: [%s]}}]\n",
		"script:"+model, repo, strings.Join(numbers, ", "))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return 0, err
	}
	took, err := b.endpoint.measure(b.command(ctx, b.dir, b.millhand, "run", file, "--report-dir", repo+"-report", "--quiet"))
	if err != nil {
		return 0, err
	}
	branches, err := output(b.command(ctx, repo, "git", "for-each-ref", "--format=x", "refs/heads/millhand"))
	if err != nil {
		return 0, err
	}
	if n := strings.Count(branches, "x"); n != bulkJobs {
		return 0, fmt.Errorf("created %d branches, want %d", n, bulkJobs)
	}
	return took.wall, nil
}

// cloned copies a repository and refreshes its index.
func (b *bench) cloned(ctx context.Context, original string) (string, error) {
	b.copies++
	repo := filepath.Join(b.dir, fmt.Sprintf("copy-%d", b.copies))
	if _, err := output(b.command(ctx, b.dir, "cp", "-a", original, repo)); err != nil {
		return "", err
	}
	_, err := output(b.command(ctx, repo, "git", "status", "--porcelain"))
	return repo, err
}

// plans measures a plan of 10,000 jobs.
func (b *bench) plans(ctx context.Context, runs int) ([]row, error) {
	const repos, values = 100, 100
	var list, numbers strings.Builder
	for i := range repos {
		fmt.Fprintf(&list, "https://git.example.com/acme/service-%03d.git\n", i)
	}
	for i := range values {
		fmt.Fprintf(&numbers, "v%d, ", i)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "repos.txt"), []byte(list.String()), 0o644); err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "plan.yaml")
	text := fmt.Sprintf("version: 1\nmodel: openai/gpt-5-mini\nprofile: build\nrepos: [{file: repos.txt}]\ntasks: [{id: care, prompt: %q, matrix: {part: [%s]}, verify: [{name: tests, run: go test ./...}]}]\n",
		"Fix ${{ matrix.part }} of ${{ repo.name }}.", strings.TrimSuffix(numbers.String(), ", "))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	wall := row{figure: "`millhand plan --format json` of 10,000 jobs: wall", unit: "ms", goal: 2000}
	peak := row{figure: "`millhand plan --format json` of 10,000 jobs: peak memory", unit: "MiB", goal: 200}
	for i := range runs + 1 {
		took, err := b.endpoint.measure(b.command(ctx, b.dir, b.millhand, "plan", "--format", "json", file))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			wall.millhand = append(wall.millhand, millis(took.wall))
			peak.millhand = append(peak.millhand, float64(took.peak)/(1<<20))
		}
	}
	return []row{wall, peak}, nil
}
