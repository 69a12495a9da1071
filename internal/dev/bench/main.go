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

// patience is the timeout of all measurements together, of which a busy machine needs much.
const patience = 3 * time.Hour

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "measure everything `N` times, after one warm-up")
	flag.StringVar(&o.only, "only", "", "measure only these `GROUPS`, separated by commas: "+strings.Join(groupNames(groups()), ", "))
	flag.StringVar(&o.json, "json", "", "also write the values of all rounds to this `FILE`")
	flag.StringVar(&o.millhand, "millhand", "", "measure this `PROGRAM` instead of building it")
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
		err = measureAll(ctx, o)
	}
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags of a measurement.
type options struct {
	runs                 int
	only, json, millhand string
}

// group is a set of figures that are measured together.
type group struct {
	name    string
	measure func(b *bench, ctx context.Context, runs int) ([]row, error)
}

func groups() []group {
	return []group{
		{"binary", (*bench).binary},
		{"start", (*bench).startUp},
		{"turns20", conversationOf(20)},
		{"turns200", conversationOf(200)},
		{"large", (*bench).large},
		{"jobs8", (*bench).together},
		{"evidence", (*bench).evidence},
		{"trivial", (*bench).trivial},
		{"instant", (*bench).instant},
		{"commands", (*bench).commands},
		{"searches", (*bench).searching},
		{"commit", (*bench).stageAndCommit},
		{"refusals", (*bench).refusals},
		{"extensions", (*bench).extensions},
		{"plan", (*bench).plans},
	}
}

func groupNames(list []group) []string {
	var all []string
	for _, g := range list {
		all = append(all, g.name)
	}
	return all
}

// selected returns the groups with these comma-separated names, all for "".
func selected(only string) ([]group, error) {
	all := groups()
	if only == "" {
		return all, nil
	}
	var list []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown group %q; the groups are %s", name, strings.Join(groupNames(all), ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// measureAll measures the selected groups. If one fails, it prints the figures of those
// before it.
func measureAll(ctx context.Context, o options) (err error) {
	if o.runs < 1 {
		return errors.New("-runs must be 1 or more")
	}
	list, err := selected(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "millhand-bench-")
	if err != nil {
		return fmt.Errorf("create a working directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := openBench(ctx, dir, o.millhand, 2000)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r := results{Rounds: o.runs, LoadBefore: loadAverage(), Machine: machine(ctx, b), Date: time.Now().UTC().Format(time.DateOnly)}
	for _, g := range list {
		rows, failed := g.measure(b, ctx, o.runs)
		if failed != nil {
			err = fmt.Errorf("measure %s: %w", g.name, failed)
			break
		}
		for _, row := range rows {
			r.Figures = append(r.Figures, row.result(g.name, r.Date))
		}
	}
	r.LoadAfter = loadAverage()
	return errors.Join(err, r.print(o.json))
}

// conversationOf measures a conversation of so many turns in one process.
func conversationOf(turns int) func(*bench, context.Context, int) ([]row, error) {
	return func(b *bench, ctx context.Context, runs int) ([]row, error) {
		w := work{turns: turns, rounds: runs}
		if err := b.play(ctx, &w); err != nil {
			return nil, err
		}
		return w.rows(), nil
	}
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
	return fmt.Sprintf("%s; %d cores, Linux %s, %s; files on %s, worktrees on %s; %s; the floor's grep is %s.",
		say(b.millhand, "--version"), runtime.NumCPU(), say("uname", "-r"), runtime.Version(), say("df", "--output=fstype", b.dir), say("df", "--output=fstype", b.worktree),
		say("git", "--version"), grepName())
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}
