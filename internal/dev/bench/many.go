//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bulkJobs is the number of jobs of an instant model on one repository.
const bulkJobs = 50

// instant measures the cost of a job without its session: many sequential jobs of a
// model that responds immediately, against `git worktree add`, the same change, and
// `git commit`.
func (b *bench) instant(ctx context.Context, runs int) ([]row, error) {
	r := row{figure: fmt.Sprintf("%d jobs of an instant model on 5,000 files, beside git worktree add and git commit: wall a job", bulkJobs), unit: "ms", goal: 2, ofRatio: true}
	original := filepath.Join(b.dir, "five-thousand")
	if err := os.Mkdir(original, 0o755); err != nil {
		return nil, err
	}
	if _, err := b.generate(ctx, original, 5000); err != nil {
		return nil, err
	}
	for i := range runs + 1 {
		byGit, err := b.jobsByGit(ctx, original)
		if err != nil {
			return nil, err
		}
		took, err := b.jobsByMillhand(ctx, original)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%d jobs, round %d of %d: %s, git %s\n", bulkJobs, i, runs, took.Round(time.Millisecond), byGit.Round(time.Millisecond))
		if i > 0 {
			r.millhand, r.floor = append(r.millhand, millis(took)/bulkJobs), append(r.floor, millis(byGit)/bulkJobs)
		}
	}
	return []row{r}, nil
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
	const turns = `[{"calls": [{"tool": "write", "args": {"filePath": "NOTICE", "content": "Made.\n"}}]}, {"text": "Done."}]`
	took, err := b.scripted(ctx, repo, turns, "{id: notice, profile: edit, prompt: Add a notice., matrix: {n: ["+upTo(bulkJobs)+"]}}")
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

// trivialJobs is the number of jobs of one turn without a call.
const trivialJobs = 200

// trivial measures the CPU time of the process for a job that does nothing, of which the
// largest share is what every job costs: in place, and as users have it.
func (b *bench) trivial(ctx context.Context, runs int) ([]row, error) {
	variants := []struct{ name, commit, sandbox string }{{"in place", "false", "off"}, {"worktree and sandbox", `{branch: "millhand/${{ matrix.n }}"}`, "auto"}}
	rows := []row{{unit: "ms"}, {unit: "ms"}}
	rows[0], rows[1] = rows[0].atMost(1.5, "5 ms"), rows[1].atMost(4.5, "14 ms")
	original := filepath.Join(b.dir, "three-files")
	if err := os.Mkdir(original, 0o755); err != nil {
		return nil, err
	}
	if _, err := b.generate(ctx, original, 3); err != nil {
		return nil, err
	}
	for i := range runs + 1 {
		for n, v := range variants {
			rows[n].figure = fmt.Sprintf("%d jobs of one turn without a call, %s: own CPU a job", trivialJobs, v.name)
			repo, err := b.cloned(ctx, original)
			if err != nil {
				return nil, err
			}
			task := fmt.Sprintf("{id: one, profile: build, prompt: Do nothing., matrix: {n: [%s]}, commit: %s}", upTo(trivialJobs), v.commit)
			took, err := b.scripted(ctx, repo, `[{"text": "Done."}]`, task, "--sandbox", v.sandbox)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				rows[n].millhand = append(rows[n].millhand, millis(took.cpu)/trivialJobs)
			}
		}
	}
	return rows, nil
}

// scripted runs a task on a repository, with a model that responds immediately with the
// given turns.
func (b *bench) scripted(ctx context.Context, repo, turns, task string, flags ...string) (usage, error) {
	model, file := repo+"-turns.yaml", repo+".yaml"
	if err := os.WriteFile(model, fmt.Appendf(nil, `{"version": 1, "turns": %s}`, turns), 0o644); err != nil {
		return usage{}, err
	}
	text := fmt.Sprintf("version: 1\nmodel: %q\njobs: 1\nrepos: [{path: %q}]\ntasks: [%s]\n", "script:"+model, repo, task)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return usage{}, err
	}
	args := append([]string{b.millhand, "run", file, "--report-dir", repo + "-report", "--quiet"}, flags...)
	return b.endpoint.measure(b.command(ctx, b.dir, args...))
}

// upTo returns the numbers from 0 below n, separated by commas.
func upTo(n int) string {
	var numbers []string
	for i := range n {
		numbers = append(numbers, fmt.Sprint(i))
	}
	return strings.Join(numbers, ", ")
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
			peak.millhand = append(peak.millhand, mebibytes(took.peak))
		}
	}
	return []row{wall, peak}, nil
}
