package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/tools/shell/program"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// bench runs command lines by the real bash. Every program that a line can
// reach is a stub that notes its name and arguments, except some that run
// other programs, which are the real ones.
type bench struct {
	bash, bin string
}

// realWrappers are the programs that aren't replaced by stubs.
var realWrappers = []string{"env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "bash", "sh"}

func newBench(tb testing.TB, stubs []string) bench {
	tb.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		tb.Skip("bash is not installed")
	}
	dir := tb.TempDir()
	b := bench{bash: bash, bin: filepath.Join(dir, "bin")}
	if err := os.Mkdir(b.bin, 0o700); err != nil {
		tb.Fatal(err)
	}
	for _, name := range realWrappers {
		path, err := exec.LookPath(name)
		if err != nil {
			tb.Skipf("%s is not installed", name)
		}
		if err := os.Symlink(path, filepath.Join(b.bin, name)); err != nil {
			tb.Fatal(err)
		}
	}
	// Some runs of a stub fail, in no simple rhythm, so that loops end and both
	// branches of a condition are reached.
	script := "#!" + bash + `
exec 9>> "${BENCH_LOG:?}"
printf '%s\0' "${0##*/}" "$@" $'\036' >&9 # in one write, as others may write too
mapfile -d '' -t l < "$BENCH_LOG"
n=0
for x in "${l[@]}"; do [[ $x == $'\036' ]] && n=$((n + 1)); done
((n < 100)) || kill -KILL 0 # an endless loop; lines that end run 30 at most
exit $((n * 7 % 11 < 4))
`
	for _, name := range stubs {
		if slices.Contains(realWrappers, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(b.bin, name), []byte(script), 0o700); err != nil { //nolint:gosec // it has to be executable
			tb.Fatal(err)
		}
	}
	// Package managers that do what they are for, and no more.
	for name, words := range map[string]string{"npx": "", "bunx": "", "uv": "run", "poetry": "run", "bundle": "exec", "rustup": "run stable"} {
		runner := fmt.Sprintf("#!%s\nfor w in %s; do [ \"$1\" = $w ] || exit 2; shift; done\nexec \"$@\"\n", bash, words)
		if err := os.WriteFile(filepath.Join(b.bin, name), []byte(runner), 0o700); err != nil { //nolint:gosec // it has to be executable
			tb.Fatal(err)
		}
	}
	return b
}

// run carries a line out in a fresh directory and returns what ran and which
// files were made there.
func (b bench) run(t *testing.T, line string) (ran [][]string, made []string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"d1/d2", "d2", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bash, "--norc", "--noprofile", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + b.bin, "HOME=" + filepath.Join(dir, "home"), "FUNCNEST=6", "BENCH_LOG=" + log}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			t.Fatalf("run %q: %v", line, err)
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what still runs in the background; usually nothing
	return readLog(t, log), filesIn(t, dir)
}

// readLog returns the words of each stub that has run.
func readLog(t *testing.T, file string) [][]string {
	t.Helper()
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for record := range bytes.SplitSeq(bytes.TrimSuffix(log, []byte("\x1e\x00")), []byte("\x1e\x00")) {
		if words := strings.Split(strings.TrimSuffix(string(record), "\x00"), "\x00"); words[0] != "" {
			all = append(all, words)
		}
	}
	return all
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, relErr := filepath.Rel(dir, path)
			files = append(files, name)
			return relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// check compares a run with the analysis: nothing may have run, and no file
// may have been made, that the analysis hasn't reported. A line that it
// refuses or calls unknown is denied anyway.
func (b bench) check(t *testing.T, line string, exact bool) (known bool) {
	t.Helper()
	a, err := Analyze(line)
	if err != nil {
		return false
	}
	programsUnknown := slices.ContainsFunc(a.Unknown, func(u Unknown) bool { return u.Reason != effect.ReasonPath })
	if programsUnknown {
		return false
	}
	ran, made := b.run(t, line)
	for _, words := range ran {
		plain := strings.Join(words, " ")
		if !slices.ContainsFunc(a.Commands, func(c Command) bool {
			script := program.IsShell(c.Program) && strings.Contains(c.Plain, " "+words[0]) // which is looked up in PATH
			return c.Program == words[0] && (!exact || c.Plain == plain) || script
		}) {
			t.Errorf("%s\nran %q, reported is\n%s", line, words, outline(a, nil))
		}
	}
	if len(a.Unknown) > 0 {
		return true
	}
	for _, file := range made {
		if !slices.ContainsFunc(a.Accesses, func(x Access) bool {
			path := filepath.Join(strings.Replace(x.Dir, "~", "home", 1), x.Path)
			return x.Write && (path == file || strings.ContainsAny(line, "*?[") && path == filepath.Dir(file))
		}) {
			t.Errorf("%s\nmade %q, reported is\n%s", line, file, outline(a, nil))
		}
	}
	return true
}

// TestEveryCommandIsReported runs generated lines.
func TestEveryCommandIsReported(t *testing.T) {
	b := newBench(t, stubNames())
	lines := nightly.Count(120, 2000, 20_000)
	if testing.Short() {
		lines = 30
	}
	known := 0
	for n := range lines {
		g := newGenerator(uint64(n))
		line := g.line()
		if b.check(t, line, g.exact) {
			known++
		}
		if t.Failed() {
			t.Fatalf("seed %d", n)
		}
	}
	if known < lines*3/4 {
		t.Errorf("of %d generated lines only %d are known", lines, known)
	}
}

// TestEveryCommandOfTheTableIsReported runs the lines of the table that stay
// in their directory.
func TestEveryCommandOfTheTableIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	var lines []string
	stubs := map[string]bool{}
	for _, cases := range tableFiles(t) {
		for _, c := range cases {
			a, err := Analyze(c.line)
			if err != nil || strings.ContainsAny(c.line, "/~") || strings.Contains(c.line, "..") || leavesBench(a) {
				continue
			}
			lines = append(lines, c.line)
			for _, command := range a.Commands {
				if !strings.ContainsAny(command.Program, " $/`*?()") && builtin(command.Program) == nil && command.Program != "" {
					stubs[command.Program] = true
				}
			}
		}
	}
	names := make([]string, 0, len(stubs))
	for s := range stubs {
		names = append(names, s)
	}
	b := newBench(t, names)
	slices.Sort(lines)
	known := 0
	for _, line := range lines {
		if b.check(t, line, false) {
			known++
		}
	}
	if known < len(lines)/2 {
		t.Errorf("of %d lines of the table only %d were run", len(lines), known)
	}
}

// leavesBench reports whether a line would find programs other than the stubs.
func leavesBench(a Analysis) bool {
	return slices.ContainsFunc(a.Commands, func(c Command) bool {
		return strings.HasPrefix(c.Plain, "env -") || strings.HasPrefix(c.Plain, "command -p") || strings.HasPrefix(c.Plain, "bash -l") || c.Program == "exec" || strings.Contains(c.Plain, "PATH")
	}) || slices.ContainsFunc(a.Accesses, func(x Access) bool { return word.IsRooted(x.Path) || word.IsRooted(x.Dir) })
}

func ExampleAnalyze() {
	a, err := Analyze(`cd web && sudo /usr/bin/git -C sub push "$REMOTE" > ../log`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range a.Commands {
		fmt.Printf("%s: %s\n", c.Program, c.Plain)
	}
	for _, x := range a.Accesses {
		fmt.Printf("%+v\n", x)
	}
	for _, u := range a.Unknown {
		fmt.Printf("%s: %s\n", u.Reason, u.Text)
	}
	// Output:
	// sudo: sudo /usr/bin/git -C sub push $REMOTE
	// git: git push $REMOTE
	// {Path:web Dir: Write:false Why:argument of cd}
	// {Path:sub Dir:web Write:true Why:-C of git}
	// {Path:../log Dir:web Write:true Why:redirection}
	// option that runs a program: /usr/bin/git -C sub push "$REMOTE"
}
