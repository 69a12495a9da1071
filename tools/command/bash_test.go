package command_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

func TestBashResults(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"})
	tests := []struct {
		name string
		in   tooltest.Args
		want string
		exit int
	}{
		{"its output", tooltest.Args{"command": "cat a.txt"}, "one\n", 0},
		{"both streams in order", tooltest.Args{"command": "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, "1\n2\n3\n4\n", 0},
		{"its exit code", tooltest.Args{"command": "echo no; exit 3"}, "no\n\n\n(exit code 3)", 3},
		{"an exit code alone", tooltest.Args{"command": "false"}, "(no output)\n\n(exit code 1)", 1},
		{"its silence", tooltest.Args{"command": "true"}, "(no output)", 0},
		{"a signal", tooltest.Args{"command": "kill -KILL $$"}, "(no output)\n\n(killed by signal: killed)", -1},
		{"a program that is not there", tooltest.Args{"command": "no-such-program"}, "bash: line 1: no-such-program: command not found\n\n\n(exit code 127)", 127},
		{"an empty standard input", tooltest.Args{"command": "cat; read x || echo none"}, "none\n", 0},
		{"no terminal", tooltest.Args{"command": "test -t 0 || test -t 1 || echo none"}, "none\n", 0},
		{"where it ran", tooltest.Args{"command": "pwd"}, s.Dir + "\n", 0},
		{"another directory", tooltest.Args{"command": "cat b.txt; pwd", "workdir": "sub"}, "two\n" + s.Dir + "/sub\n", 0},
		{"an absolute directory", tooltest.Args{"command": "cat b.txt", "workdir": s.Dir + "/sub"}, "two\n", 0},
		{"bytes that are no text", tooltest.Args{"command": `printf 'a\377\376b\303'`}, "a\uFFFDb\uFFFD", 0},
		{"bash, not sh", tooltest.Args{"command": "[[ ab == a* ]] && x=(1 2) && echo ${x[1]}"}, "2\n", 0},
		{"CRLF line endings", tooltest.Args{"command": "for i in 1 2; do\r\n  echo $i\r\ndone\r"}, "1\n2\n\n\n(the command had CRLF line endings and was run with LF)", 0},
		{"a timeout in seconds", tooltest.Args{"command": "sleep 0.1; echo ok", "timeout": 30}, "(timeout is in milliseconds: 30 was read as seconds, and the command ran with a timeout of 30s)\n\nok\n", 0},
		{"more than one line", tooltest.Args{"command": "cat <<'E'\n$x\nE\necho end"}, "$x\nend\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.Call("bash", tt.in.With(tooltest.Args{"description": "tries"}))
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tools.Metadata{ExitCode: &tt.exit}, out.Metadata); diff != "" || out.Title != "tries" {
				t.Errorf("%s: %s", out.Title, diff)
			}
		})
	}
	if out := s.Call("bash", tooltest.Args{"command": "echo a;\n  echo b"}); out.Title != "echo a; echo b" {
		t.Errorf("without a description its title is %q", out.Title)
	}
}

func TestBashErrors(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n"})
	before := s.Tree()
	tests := []struct {
		in     tooltest.Args
		status tools.Status
		want   string
	}{
		{tooltest.Args{"command": ""}, tools.Failed, "command is empty"},
		{tooltest.Args{"command": " \n\t"}, tools.Failed, "command is empty"},
		{tooltest.Args{"command": "touch x", "timeout": -1}, tools.Failed, "invalid timeout -1: must be a positive number of milliseconds"},
		{tooltest.Args{"command": "touch x", "workdir": "no/such"}, tools.Failed, "workdir: directory not found: no/such"},
		{tooltest.Args{"command": "touch x", "workdir": "a.txt"}, tools.Failed, "workdir: directory not found: a.txt"},
		{tooltest.Args{"command": "touch x", "workdir": "a\x00b"}, tools.Failed, "NUL"},
		{tooltest.Args{"command": "touch x", "workdir": ".."}, tools.Denied, `external_directory "` + s.Base + `"`},
		{tooltest.Args{"command": "touch x", "workdir": s.Outside}, tools.Denied, `external_directory "` + s.Outside + `"`},
		{tooltest.Args{"command": "touch x", "workdir": "/usr"}, tools.Denied, `external_directory "/usr"`},
		{tooltest.Args{"command": "touch x; if"}, tools.Failed, "invalid command, not run: not valid bash: line 1, column 10"},
		{tooltest.Args{"command": "touch x; echo 'no end"}, tools.Failed, "line 1, column 15: reached EOF without closing quote `'`: 'no end; fix it, or write the script to a file with the write tool"},
		{tooltest.Args{"command": "touch x\necho \"no end\nit is"}, tools.Failed, "line 2, column 6: reached EOF without closing quote `\"`: \"no end…;"},
		{tooltest.Args{"command": `bash -c "touch x; echo 'no end"`}, tools.Failed, "without closing quote `'`: 'no end;"},
		{tooltest.Args{"command": "touch x\x00"}, tools.Failed, "script contains a NUL byte"},
		{tooltest.Args{"command": "touch x\recho y"}, tools.Failed, `carriage return that ends no line; write it as $'\r'`},
		{tooltest.Args{"command": "touch " + strings.Repeat("x ", 100_000)}, tools.Failed, "command too long: 200006 bytes, maximum 65536; create files with the write tool"},
		{tooltest.Args{"command": "touch x; echo '" + strings.Repeat("é", 20_000)}, tools.Failed, "'" + strings.Repeat("é", 29) + "…;"},
		{tooltest.Args{"command": "cat <<" + strings.Repeat("E", 20_000)}, tools.Failed, "EEE…; fix it"},
	}
	for _, tt := range tests {
		s.Want(s.Call("bash", tt.in), tt.status, tt.want)
	}
	s.Unchanged(before)
}

// A pipe shows when the last process that holds it has ended, without looking
// at the clock.
func TestBashKillsBackgroundProcesses(t *testing.T) {
	tests := []struct {
		name string
		in   tooltest.Args
		want string
	}{
		{"at its timeout", tooltest.Args{"command": "exec 3>pipe; echo up >&3; echo so far; sleep 1000 & sleep 1000"}, "Error: command timed out after %s and its process group was killed; the output so far follows; set a larger timeout if the command needs more time\n\nso far\n"},
		{"in the background, holding its output", tooltest.Args{"command": "exec 3>pipe; echo up >&3; sleep 1000 & echo done"}, "done\n"},
		{"in the background, deaf", tooltest.Args{"command": "exec 3>pipe; echo up >&3; (trap '' TERM HUP; sleep 1000; sleep 1000) >/dev/null 2>&1 & disown; echo done"}, "done\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "build", nil)
			path := filepath.Join(s.Dir, "pipe")
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			var out tools.Outcome
			timed, want := strings.HasPrefix(tt.want, "Error"), tt.want
			if timed {
				var limit time.Duration
				out, limit = tooltest.WithTimeouts(func(limit time.Duration) tools.Outcome {
					limit = max(limit, command.MinTimeout*time.Millisecond)
					tt.in["timeout"] = limit.Milliseconds()
					return s.Call("bash", tt.in)
				})
				want = fmt.Sprintf(want, max(limit, command.MinTimeout*time.Millisecond))
			} else {
				out = s.Call("bash", tt.in)
			}
			if diff := cmp.Diff(want, out.Text()); diff != "" {
				t.Error(diff)
			}
			if (*out.Metadata.ExitCode == -1) != timed || (out.Status == tools.Failed) != timed {
				t.Errorf("%s, %v", out.Status, out.Metadata)
			}
			if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(pipe); err != nil || strings.Trim(string(text), "up\n") != "" || len(text) == 0 {
				t.Errorf("something still holds the pipe: %q, %v", text, err)
			}
		})
	}
}

func TestBashTimeouts(t *testing.T) {
	tests := []struct {
		ms   float64
		most time.Duration
		want time.Duration
	}{
		{0, 0, 2 * time.Minute},
		{1500, 0, 1500 * time.Millisecond},
		{600_000, 0, 10 * time.Minute},
		{0, time.Minute, time.Minute},
		{600_000, time.Minute, time.Minute},
		{1000, time.Minute, time.Second},
		{999, time.Hour, 999 * time.Second}, // seconds
		{30, 0, 30 * time.Second},
		{30.5, 0, 30500 * time.Millisecond},
		{0.5, 0, 500 * time.Millisecond},
		{1500.5, 0, 1500500 * time.Microsecond},
		{500, time.Minute, time.Minute},
		{1e13, 0, 24 * time.Hour}, // as nanoseconds it would not fit, and be no deadline at all
		{1 << 62, time.Hour, time.Hour},
	}
	for _, tt := range tests {
		if got := command.TimeoutOf(command.Env{Options: command.Options{MaxTime: tt.most}}, tt.ms); got != tt.want {
			t.Errorf("%g ms, at most %s: got %s, want %s", tt.ms, tt.most, got, tt.want)
		}
	}
}

func TestCancelingTheSessionKillsACommand(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	ctx, cancel := context.WithCancel(t.Context())
	out := s.Tools.Dispatch(ctx, s.Env, tools.Call{Name: "bash", Input: `{"command": "sleep 1000"}`}, func(string) { cancel() })
	if out.Status != tools.Failed || out.Error != "tool call interrupted" {
		t.Errorf("got %+v", out)
	}
	if exit := out.Metadata.ExitCode; exit != nil {
		t.Errorf("a command that did not end by itself has the exit code %d", *exit)
	}
}

func TestBashGetsOnlyAllowedVariables(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "GITHUB_TOKEN", "GITHUB_ENV", "SSH_AUTH_SOCK", "HARMLESS", "BASH_ENV", "LD_PRELOAD_NOT"} {
		t.Setenv(name, "c4nary")
	}
	s := tooltest.SetUp(t, "build", nil)
	s.Env.ChildEnv = proc.ChildEnv(os.Getenv, []string{"HARMLESS"})
	out := s.Call("bash", tooltest.Args{"command": "env | sort; export -p; declare -p"})
	s.Want(out, tools.Completed, "HARMLESS=c4nary")
	allowed := []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "HARMLESS", "PWD", "SHLVL", "_"}
	env, _, _ := strings.Cut(out.Output, "declare ")
	for line := range strings.Lines(env) {
		if name, _, _ := strings.Cut(line, "="); !slices.Contains(allowed, name) {
			t.Errorf("the command sees %s", line)
		}
	}
	if n := strings.Count(out.Output, "c4nary"); n != 3 {
		t.Errorf("the canary stands %d times in %s", n, out.Output)
	}
}

func TestBashTruncatesLongOutputAndSavesIt(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	s.Put("seq", "")
	out := s.Call("bash", tooltest.Args{"command": "seq 1 100000"})
	saved := out.Metadata.OutputPath
	s.Want(out, tools.Completed, "(output truncated: only the tail of 588895 bytes is shown; full output saved to "+saved+": use read with offset and limit, or grep)\n\n", "\n99999\n100000\n")
	if !out.Truncated || out.Bytes != 588895 || cut.Size(out.Output) > outputs.DefaultBytes+500 {
		t.Errorf("truncated %v, %d bytes, shown %d", out.Truncated, out.Bytes, len(out.Output))
	}
	before := s.Tree()
	s.Want(s.Call("read", tooltest.Args{"filePath": saved, "offset": 50_000, "limit": 2}), tools.Completed, "50000: 50000\n50001: 50001\n")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "^777$", "path": saved}), tools.Completed, saved+":\n  Line 777: 777\n")
	s.Want(s.Call("bash", tooltest.Args{"command": "head -n 1 " + saved}), tools.Completed, "1\n")
	s.Want(s.Call("write", tooltest.Args{"filePath": saved, "content": "x"}), tools.Denied)
	s.Want(s.Call("bash", tooltest.Args{"command": "echo x > " + saved}), tools.Denied)
	s.Want(s.Call("read", tooltest.Args{"filePath": filepath.Dir(saved) + "/../work-beside/secret"}), tools.Denied)
	s.Unchanged(before)
}

func TestSavedOutputsAreReadableThroughASymlink(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	if err := os.Mkdir(filepath.Join(s.Base, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Symlink(filepath.Join(s.Base, "real"), "../link")
	s.Env.Outputs = tooltest.OutputsIn(t, filepath.Join(s.Base, "link"))
	saved := s.Call("bash", tooltest.Args{"command": "seq 1 100000"}).Metadata.OutputPath
	s.Want(s.Call("read", tooltest.Args{"filePath": saved, "limit": 1}), tools.Completed, "1: 1\n")
	s.Symlink(filepath.Join(s.Outside, "secret"), "../real/outputs/trap")
	s.Want(s.Call("read", tooltest.Args{"filePath": filepath.Join(s.Env.Outputs.Path(), "trap")}), tools.Denied)
	t.Chdir(s.Base)
	s.Env.Outputs = tooltest.OutputsIn(t, "link")
	s.Want(s.Call("read", tooltest.Args{"filePath": saved, "limit": 1}), tools.Completed, "1: 1\n")
}

func TestHugeOutputUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	s := tooltest.SetUp(t, "build", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := s.Call("bash", tooltest.Args{"command": "head -c 80000000 /dev/zero"})
	runtime.ReadMemStats(&after)
	s.Want(out, tools.Completed)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("it took %d MiB", got>>20)
	}
	saved := out.Metadata.OutputPath
	if st, err := os.Stat(saved); err != nil || st.Size() > outputs.MaxSpill || out.Bytes != 80_000_000 {
		t.Errorf("kept %v of %d bytes, %v", st, out.Bytes, err)
	}
}

// No target outside can be made, so that a defect does no harm here.
func TestBashDecisions(t *testing.T) {
	files := map[string]string{".env": "K=1", "a.txt": "one\n", ".git/config": "[core]\n", "sub/x": ""}
	tests := []struct {
		preset, command string
		want            tools.Status
	}{
		{"build", "cat /etc/hostname", tools.Completed},
		{"build", "ls /usr/bin/env && cat < /etc/passwd > copy", tools.Completed},
		{"build", "echo x > /dev/null; cat /dev/null 2> /dev/stderr", tools.Completed},
		{"build", "cat .git/config", tools.Completed},
		{"build", "cat '~/x' || true", tools.Completed},
		{"build", "echo x > /etc/passwd/x", tools.Denied},
		{"build", "cp a.txt /usr/no/such/x", tools.Denied},
		{"build", "cat .env", tools.Denied},
		{"build", "cat < .env", tools.Denied},
		{"build", "bash -c 'cat .env'", tools.Denied},
		{"build", "cd sub && cat ../.env", tools.Denied},
		{"build", "echo x > .git/config", tools.Denied},
		{"build", "echo x > .GIT/config", tools.Denied},
		{"build", "cd .git && echo x > config", tools.Denied},
		{"build", "echo x > ../work-beside/new", tools.Denied},
		{"build", "touch $HOME/x", tools.Denied},
		{"build", "cat ~/.ssh/id", tools.Denied},
		{"build", "cat ~root/.ssh/id", tools.Denied},
		{"build", "cd ~root && cat .ssh/id", tools.Denied},
		{"build", "echo x > ~root/no/such/x", tools.Denied},
		{"build", "cat ../work-beside/secret", tools.Denied},
		{"build", "cat out/secret", tools.Denied},
		{"build", "cd link/.. && cat secret", tools.Denied},
		{"build", "cat /root/.bashrc", tools.Denied},
		{"build", "cat /proc/self/environ", tools.Denied},
		{"review", "git status --help > /dev/null 2>&1 || true; ls | sort | head -n 3", tools.Completed},
		{"review", "git status && rm a.txt", tools.Denied},
		{"review", "ls; touch x", tools.Denied},
		{"review", "ls $(touch x)", tools.Denied},
		{"review", "echo x > a.txt", tools.Denied},
		{"review", "sort -o a.txt a.txt", tools.Denied},
		{"review", "find . -name x -delete", tools.Denied},
		{"review", "env touch x", tools.Denied},
		{"review", "X=1", tools.Denied},
		{"review", "$CMD", tools.Denied},
		{"review", "cat .env", tools.Denied},
	}
	for _, tt := range tests {
		t.Run(tt.preset+"/"+tt.command, func(t *testing.T) {
			s := tooltest.SetUp(t, tt.preset, files)
			s.Symlink(s.Outside, "out")
			s.Symlink(filepath.Join(s.Outside, "sub"), "link")
			s.Put("../work-beside/sub/", "")
			before := s.Tree()
			s.Want(s.Call("bash", tooltest.Args{"command": tt.command}), tt.want)
			if tt.want == tools.Denied {
				s.Unchanged(before)
			}
		})
	}
}

func TestRuleMatchesWrappedCommand(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": ""})
	s.Deny("bash", "rm *")
	before := s.Tree()
	for _, command := range []string{
		"rm a.txt", "/bin/rm a.txt", "r'm' a.txt", `\rm a.txt`, "true && rm a.txt", "ls | xargs rm", "sudo rm a.txt", "env -i X=1 rm a.txt",
		"timeout 5 rm a.txt", "bash -c 'rm a.txt'", "eval rm a.txt", "echo $(rm a.txt)", "f() { rm a.txt; }; f", "find . -exec rm {} +",
		"(rm a.txt)", "if true; then rm a.txt; fi", "nohup rm a.txt &", "X=rm; $X a.txt", "command rm a.txt", "rm a.txt # ls", "ls\nrm a.txt",
	} {
		out := s.Call("bash", tooltest.Args{"command": command})
		s.Want(out, tools.Denied, `bash: {"rm *": deny}`)
		if out.Decision != nil && out.Decision.Source != "m.yaml:4" {
			t.Errorf("%s: decided by %+v", command, out.Decision)
		}
	}
	s.Unchanged(before)
}

func TestHomeFilesWithoutHOME(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	s.Env.ChildEnv = []string{"PATH=" + os.Getenv("PATH")}
	for _, command := range []string{"cat ~/x", "cat $HOME/x", "cd ~; cat x", "echo x > ~/no/such/x"} {
		s.Want(s.Call("bash", tooltest.Args{"command": command}), tools.Denied, `"~`)
	}
	s.Env.ChildEnv = append(s.Env.ChildEnv, "HOME="+s.Dir)
	s.Want(s.Call("bash", tooltest.Args{"command": "echo x > ~/x; cat ~/x"}), tools.Completed, "x\n")
}

func TestTruncatedBashOutputIsValidUTF8(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	for _, unit := range nightly.Sample([]string{"é", "日本", "🙂x", `\377`, `\001"`, `\302`}, 3, 0) {
		out := s.Call("bash", tooltest.Args{"command": "for i in {1..20000}; do printf '" + unit + "'; done"})
		s.Want(out, tools.Completed)
		if !utf8.ValidString(out.Output) || cut.Size(out.Output) > outputs.DefaultBytes+500 {
			t.Errorf("%s: %d bytes, valid: %v", unit, len(out.Output), utf8.ValidString(out.Output))
		}
	}
}

// cd runs nothing: only its directory is decided, whether a command follows or not.
func TestCdNeedsNoRuleOfItsOwn(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"sub/x": "", "hidden/x": ""})
	s.Env.Profile.Rules = append(s.Env.Profile.Rules,
		permission.Rule{Permission: "bash", Pattern: "*", Source: "m.yaml:1"},
		permission.Rule{Permission: "bash", Pattern: "git *", Effect: permission.Allow, Source: "m.yaml:2"},
		permission.Rule{Permission: "edit", Pattern: "hidden/**", Source: "m.yaml:3"},
		permission.Rule{Permission: "read", Pattern: "hidden/**", Source: "m.yaml:4"})
	for line, want := range map[string]bool{
		"cd .": true, "cd sub": true, "cd sub && cd ..": true, "(cd sub)": true, "cd sub && git log": true,
		"cd hidden": false, "cd ../..": false, "cd $(ls)": false, "cd . && ls": false, "cd .; > hidden/x": false, "ls": false, "x=1": false, "pushd sub": false, "cd() { ls; }; cd": false,
		"cd": false, "cd $x": false, // outside, and anywhere
	} {
		decisions, err := tools.Decide(s.Env, "bash", line)
		if err != nil {
			t.Fatal(err)
		}
		if allowed := !slices.ContainsFunc(decisions, func(d permission.Decision) bool { return !d.Allowed() }); allowed != want {
			t.Errorf("%s: allowed is %v, want %v: %+v", line, allowed, want, decisions)
		}
	}
	if out := s.Call("bash", tooltest.Args{"command": "cd sub"}); out.Status != tools.Completed {
		t.Errorf("%+v", out)
	}
}

// A rule for what is in a directory speaks of a command that names the
// directory, or a wildcard in it; a file that is only known at run time may be
// in it.
func TestRulesForADirectoryCoverIt(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"safe/x": "", "guarded/x": "", "hidden/x": ""})
	s.Env.Profile.Rules = append(s.Env.Profile.Rules,
		permission.Rule{Permission: "edit", Pattern: "guarded/**", Source: "m.yaml:1"},
		permission.Rule{Permission: "read", Pattern: "hidden/**", Source: "m.yaml:2"})
	for line, want := range map[string]bool{
		"rm -r guarded": false, "rm guarded/*": false, "cp -r safe guarded": false, "cp safe/x guarded/": false, "mv guarded elsewhere": false,
		"tar -xf a.tar -C guarded": false, "ls hidden": false, "cat hidden/*": false, "cd hidden && ls": false,
		"f=guarded/x; rm $f": false, "touch safe/*": true, "rm -r safe": true, "ls safe": true, "ls guarded": true, "cat $f": true,
	} {
		decisions, err := tools.Decide(s.Env, "bash", line)
		if err != nil {
			t.Fatal(err)
		}
		allowed := !slices.ContainsFunc(decisions, func(d permission.Decision) bool { return !d.Allowed() })
		if allowed != want {
			t.Errorf("%s: allowed is %v, want %v: %+v", line, allowed, want, decisions)
		}
	}
}
