//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is the timeout of all measurements together.
const patience = time.Hour

func main() {
	runs := flag.Int("runs", 5, "measure everything `N` times, after one warm-up")
	commands := flag.Bool("commands", false, "measure only commands in the sandbox")
	refusals := flag.Bool("refusals", false, "measure only the cost of responses with status 429")
	searches := flag.Bool("searches", false, "measure only grep and glob")
	extensions := flag.Bool("extensions", false, "measure only MCP servers and tool files")
	server := flag.Duration("server", -1, "run as an MCP server that starts after this `TIME`")
	floor := flag.String("floor", "", "run as the floor, with the model at this `URL`, in the current directory")
	flag.Parse()
	if *server >= 0 {
		os.Exit(extensionServer(*server))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, patience)
	var err error
	if *floor != "" {
		err = playFloor(ctx, *floor, ".")
	} else {
		err = measureAll(ctx, *runs, only{*commands, *refusals, *searches, *extensions})
	}
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// only selects one kind of measurement; all are measured if none is true.
type only struct{ commands, refusals, searches, extensions bool }

func measureAll(ctx context.Context, runs int, what only) (err error) {
	if runs < 1 {
		return errors.New("-runs must be 1 or more")
	}
	dir, err := os.MkdirTemp("", "millhand-bench-")
	if err != nil {
		return fmt.Errorf("create a working directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := openBench(ctx, dir, "", 2000)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	before := loadAverage()
	switch {
	case what.commands:
		table, err := b.commands(ctx, runs)
		return b.report(ctx, runs, before, table, err)
	case what.refusals:
		table, err := b.refusals(ctx, runs)
		return b.report(ctx, runs, before, table, err)
	case what.extensions:
		table, err := b.extensions(ctx, runs)
		return b.report(ctx, runs, before, table, err)
	case what.searches:
		table, err := b.searching(ctx, runs)
		return b.report(ctx, runs, before, table, err)
	}
	var table []row
	for _, turns := range []int{20, 200} {
		w := work{turns: turns, rounds: runs}
		if err := b.play(ctx, &w); err != nil {
			return err
		}
		table = append(table, w.rows()...)
	}
	rest, err := b.rest(ctx, runs)
	return b.report(ctx, runs, before, append(table, rest...), err)
}

// report prints the figures, or returns the error.
func (b *bench) report(ctx context.Context, runs int, before string, table []row, err error) error {
	if err != nil {
		return err
	}
	fmt.Printf("%s\nMedian (min to max) of %d runs after one to warm up; load average %s before, %s after.\n\n%s",
		machine(ctx, b), runs, before, loadAverage(), markdown(table))
	return nil
}

// rest measures everything except one conversation in one process.
func (b *bench) rest(ctx context.Context, runs int) ([]row, error) {
	version, err := b.startUp(ctx, runs)
	if err != nil {
		return nil, err
	}
	checkout, err := b.checkout(ctx, runs)
	if err != nil {
		return nil, err
	}
	commit, err := b.stageAndCommit(ctx, runs)
	if err != nil {
		return nil, err
	}
	confined, err := b.commands(ctx, runs)
	if err != nil {
		return nil, err
	}
	found, err := b.searching(ctx, runs)
	if err != nil {
		return nil, err
	}
	rows := slices.Concat([]row{version, checkout}, commit, confined, found)
	together, err := b.together(ctx, runs)
	if err != nil {
		return nil, err
	}
	refused, err := b.refusals(ctx, runs)
	if err != nil {
		return nil, err
	}
	extended, err := b.extensions(ctx, runs)
	if err != nil {
		return nil, err
	}
	together = append(append(together, refused...), extended...)
	instant, err := b.instant(ctx, runs)
	if err != nil {
		return nil, err
	}
	plans, err := b.plans(ctx, runs)
	return append(append(append(rows, together...), instant), plans...), err
}

// checkout measures how long git takes to create the linked worktree that millhand works
// in.
func (b *bench) checkout(ctx context.Context, runs int) (row, error) {
	r := row{figure: "for scale, `git worktree add` of the 2,000 files: wall", unit: "ms"}
	for i := range runs + 1 {
		if err := b.fresh(ctx); err != nil {
			return r, err
		}
		took, err := b.endpoint.measure(b.command(ctx, b.repo, "git", "worktree", "add", "-q", "--detach", filepath.Join(b.worktree, filepath.Base(b.repo))))
		if err != nil {
			return r, err
		}
		if i > 0 {
			r.floor = append(r.floor, millis(took.wall))
		}
	}
	return r, nil
}

// startUp measures --version against a program that does nothing.
func (b *bench) startUp(ctx context.Context, runs int) (row, error) {
	r := row{figure: "`millhand --version`, beside `true`: wall", unit: "ms", goal: 15}
	for i := range runs + 1 {
		for _, variant := range []struct {
			into *series
			args []string
		}{{&r.floor, []string{"true"}}, {&r.millhand, []string{b.millhand, "--version"}}} {
			took, err := b.endpoint.measure(b.command(ctx, b.dir, variant.args...))
			if err != nil {
				return r, err
			}
			if i > 0 {
				*variant.into = append(*variant.into, millis(took.wall))
			}
		}
	}
	return r, nil
}

// command returns a command with its own process group and an environment that does not
// depend on the user's.
func (b *bench) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(b.dir, "home"), "TMPDIR=" + b.worktree, "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.com",
		"GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.com",
		"OPENAI_API_KEY=sk-bench", "OPENAI_BASE_URL=" + b.endpoint.url,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// machine describes the machine and the versions of programs.
func machine(ctx context.Context, b *bench) string {
	say := func(args ...string) string {
		text, err := output(b.command(ctx, b.dir, args...))
		if err != nil {
			return "no " + args[0]
		}
		return text[strings.LastIndexByte(text, '\n')+1:] // df prints a header first
	}
	return fmt.Sprintf("%s; %d cores, Linux %s, %s; files on %s, worktrees on %s; %s; the floor's grep is %s; %s.",
		say(b.millhand, "--version"), runtime.NumCPU(), say("uname", "-r"), runtime.Version(), say("df", "--output=fstype", b.dir), say("df", "--output=fstype", b.worktree),
		say("git", "--version"), grepName(), time.Now().UTC().Format(time.DateOnly))
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}
