package tools

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

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

func TestBashResults(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"})
	tests := []struct {
		name string
		in   args
		want string
		exit int
	}{
		{"its output", args{"command": "cat a.txt"}, "one\n", 0},
		{"both streams in order", args{"command": "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, "1\n2\n3\n4\n", 0},
		{"its exit code", args{"command": "echo no; exit 3"}, "no\n\n\n(exit code 3)", 3},
		{"an exit code alone", args{"command": "false"}, "(no output)\n\n(exit code 1)", 1},
		{"its silence", args{"command": "true"}, "(no output)", 0},
		{"a signal", args{"command": "kill -KILL $$"}, "(no output)\n\n(killed by signal: killed)", -1},
		{"a program that is not there", args{"command": "no-such-program"}, "bash: line 1: no-such-program: command not found\n\n\n(exit code 127)", 127},
		{"an empty standard input", args{"command": "cat; read x || echo none"}, "none\n", 0},
		{"no terminal", args{"command": "test -t 0 || test -t 1 || echo none"}, "none\n", 0},
		{"where it ran", args{"command": "pwd"}, s.dir + "\n", 0},
		{"another directory", args{"command": "cat b.txt; pwd", "workdir": "sub"}, "two\n" + s.dir + "/sub\n", 0},
		{"an absolute directory", args{"command": "cat b.txt", "workdir": s.dir + "/sub"}, "two\n", 0},
		{"bytes that are no text", args{"command": `printf 'a\377\376b\303'`}, "a\uFFFDb\uFFFD", 0},
		{"bash, not sh", args{"command": "[[ ab == a* ]] && x=(1 2) && echo ${x[1]}"}, "2\n", 0},
		{"CRLF line endings", args{"command": "for i in 1 2; do\r\n  echo $i\r\ndone\r"}, "1\n2\n\n\n(the command had CRLF line endings and was run with LF)", 0},
		{"a timeout in seconds", args{"command": "sleep 0.1; echo ok", "timeout": 30}, "(timeout is in milliseconds: 30 was read as seconds, and the command ran with a timeout of 30s)\n\nok\n", 0},
		{"more than one line", args{"command": "cat <<'E'\n$x\nE\necho end"}, "$x\nend\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.call("bash", tt.in.with(args{"description": "tries"}))
			s.want(out, Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Metadata{ExitCode: &tt.exit}, out.Metadata); diff != "" || out.Title != "tries" {
				t.Errorf("%s: %s", out.Title, diff)
			}
		})
	}
	if out := s.call("bash", args{"command": "echo a;\n  echo b"}); out.Title != "echo a; echo b" {
		t.Errorf("without a description its title is %q", out.Title)
	}
}

func TestBashErrors(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": "one\n"})
	before := s.tree()
	tests := []struct {
		in     args
		status Status
		want   string
	}{
		{args{"command": ""}, Failed, "command is empty"},
		{args{"command": " \n\t"}, Failed, "command is empty"},
		{args{"command": "touch x", "timeout": -1}, Failed, "invalid timeout -1: must be a positive number of milliseconds"},
		{args{"command": "touch x", "workdir": "no/such"}, Failed, "workdir: directory not found: no/such"},
		{args{"command": "touch x", "workdir": "a.txt"}, Failed, "workdir: directory not found: a.txt"},
		{args{"command": "touch x", "workdir": "a\x00b"}, Failed, "NUL"},
		{args{"command": "touch x", "workdir": ".."}, Denied, `external_directory "` + s.base + `"`},
		{args{"command": "touch x", "workdir": s.outside}, Denied, `external_directory "` + s.outside + `"`},
		{args{"command": "touch x", "workdir": "/usr"}, Denied, `external_directory "/usr"`},
		{args{"command": "touch x; if"}, Failed, "invalid command, not run: not valid bash: line 1, column 10"},
		{args{"command": "touch x; echo 'no end"}, Failed, "line 1, column 15: reached EOF without closing quote `'`: 'no end; fix it, or write the script to a file with the write tool"},
		{args{"command": "touch x\necho \"no end\nit is"}, Failed, "line 2, column 6: reached EOF without closing quote `\"`: \"no end…;"},
		{args{"command": `bash -c "touch x; echo 'no end"`}, Failed, "without closing quote `'`: 'no end;"},
		{args{"command": "touch x\x00"}, Failed, "script contains a NUL byte"},
		{args{"command": "touch x\recho y"}, Failed, `carriage return that ends no line; write it as $'\r'`},
		{args{"command": "touch " + strings.Repeat("x ", 100_000)}, Failed, "command too long: 200006 bytes, maximum 65536; create files with the write tool"},
		{args{"command": "touch x; echo '" + strings.Repeat("é", 20_000)}, Failed, "'" + strings.Repeat("é", 29) + "…;"},
		{args{"command": "cat <<" + strings.Repeat("E", 20_000)}, Failed, "EEE…; fix it"},
	}
	for _, tt := range tests {
		s.want(s.call("bash", tt.in), tt.status, tt.want)
	}
	s.unchanged(before)
}

// A pipe tells when the last process that holds it has ended, without looking
// at the clock.
func TestBashKillsBackgroundProcesses(t *testing.T) {
	tests := []struct {
		name string
		in   args
		want string
	}{
		{"at its timeout", args{"command": "exec 3>pipe; echo up >&3; echo so far; sleep 1000 & sleep 1000"}, "Error: command timed out after %s and its process group was killed; the output so far follows; set a larger timeout if the command needs more time\n\nso far\n"},
		{"in the background, holding its output", args{"command": "exec 3>pipe; echo up >&3; sleep 1000 & echo done"}, "done\n"},
		{"in the background, deaf", args{"command": "exec 3>pipe; echo up >&3; (trap '' TERM HUP; sleep 1000; sleep 1000) >/dev/null 2>&1 & disown; echo done"}, "done\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "build", nil)
			path := filepath.Join(s.dir, "pipe")
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
			pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			var out Outcome
			timed, want := strings.HasPrefix(tt.want, "Error"), tt.want
			if timed {
				var limit time.Duration
				out, limit = withTimeouts(func(limit time.Duration) Outcome {
					limit = max(limit, minBashTimeout*time.Millisecond)
					tt.in["timeout"] = limit.Milliseconds()
					return s.call("bash", tt.in)
				})
				want = fmt.Sprintf(want, max(limit, minBashTimeout*time.Millisecond))
			} else {
				out = s.call("bash", tt.in)
			}
			if diff := cmp.Diff(want, out.Text()); diff != "" {
				t.Error(diff)
			}
			if (*out.Metadata.ExitCode == -1) != timed || (out.Status == Failed) != timed {
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
		if got := bashTimeout(&Env{Commands: Commands{MaxTime: tt.most}}, tt.ms); got != tt.want {
			t.Errorf("%g ms, at most %s: got %s, want %s", tt.ms, tt.most, got, tt.want)
		}
	}
}

func TestCancelingTheSessionKillsACommand(t *testing.T) {
	s := setUp(t, "build", nil)
	ctx, cancel := context.WithCancel(t.Context())
	out := s.tools.Dispatch(ctx, s.env, Call{Name: "bash", Input: `{"command": "sleep 1000"}`}, func(string) { cancel() })
	if out.Status != Failed || out.Error != "tool call interrupted" {
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
	s := setUp(t, "build", nil)
	s.env.ChildEnv = proc.ChildEnv(os.Getenv, []string{"HARMLESS"})
	out := s.call("bash", args{"command": "env | sort; export -p; declare -p"})
	s.want(out, Completed, "HARMLESS=c4nary")
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
	s := setUp(t, "build", nil)
	s.put("seq", "")
	out := s.call("bash", args{"command": "seq 1 100000"})
	saved := out.Metadata.OutputPath
	s.want(out, Completed, "(output truncated: only the tail of 588895 bytes is shown; full output saved to "+saved+": use read with offset and limit, or grep)\n\n", "\n99999\n100000\n")
	if !out.Truncated || out.Bytes != 588895 || jsonSize(out.Output) > defaultBytes+500 {
		t.Errorf("truncated %v, %d bytes, shown %d", out.Truncated, out.Bytes, len(out.Output))
	}
	before := s.tree()
	s.want(s.call("read", args{"filePath": saved, "offset": 50_000, "limit": 2}), Completed, "50000: 50000\n50001: 50001\n")
	s.want(s.call("grep", args{"pattern": "^777$", "path": saved}), Completed, saved+":\n  Line 777: 777\n")
	s.want(s.call("bash", args{"command": "head -n 1 " + saved}), Completed, "1\n")
	s.want(s.call("write", args{"filePath": saved, "content": "x"}), Denied)
	s.want(s.call("bash", args{"command": "echo x > " + saved}), Denied)
	s.want(s.call("read", args{"filePath": filepath.Dir(saved) + "/../work-beside/secret"}), Denied)
	s.unchanged(before)
}

func TestSavedOutputsAreReadableThroughASymlink(t *testing.T) {
	s := setUp(t, "build", nil)
	if err := os.Mkdir(filepath.Join(s.base, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.symlink(filepath.Join(s.base, "real"), "../link")
	s.env.Outputs = outputsIn(t, filepath.Join(s.base, "link"))
	saved := s.call("bash", args{"command": "seq 1 100000"}).Metadata.OutputPath
	s.want(s.call("read", args{"filePath": saved, "limit": 1}), Completed, "1: 1\n")
	s.symlink(filepath.Join(s.outside, "secret"), "../real/outputs/trap")
	s.want(s.call("read", args{"filePath": filepath.Join(s.env.Outputs.Path(), "trap")}), Denied)
	t.Chdir(s.base)
	s.env.Outputs = outputsIn(t, "link")
	s.want(s.call("read", args{"filePath": saved, "limit": 1}), Completed, "1: 1\n")
}

func TestHugeOutputUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long test")
	}
	s := setUp(t, "build", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := s.call("bash", args{"command": "head -c 300000000 /dev/zero"})
	runtime.ReadMemStats(&after)
	s.want(out, Completed)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("it took %d MiB", got>>20)
	}
	saved := out.Metadata.OutputPath
	if st, err := os.Stat(saved); err != nil || st.Size() > maxSpill || out.Bytes != 300_000_000 {
		t.Errorf("kept %v of %d bytes, %v", st, out.Bytes, err)
	}
}

// No target outside can be made, so that a defect does no harm here.
func TestBashDecisions(t *testing.T) {
	files := map[string]string{".env": "K=1", "a.txt": "one\n", ".git/config": "[core]\n", "sub/x": ""}
	tests := []struct {
		preset, command string
		want            Status
	}{
		{"build", "cat /etc/hostname", Completed},
		{"build", "ls /usr/bin/env && cat < /etc/passwd > copy", Completed},
		{"build", "echo x > /dev/null; cat /dev/null 2> /dev/stderr", Completed},
		{"build", "cat .git/config", Completed},
		{"build", "cat '~/x' || true", Completed},
		{"build", "echo x > /etc/passwd/x", Denied},
		{"build", "cp a.txt /usr/no/such/x", Denied},
		{"build", "cat .env", Denied},
		{"build", "cat < .env", Denied},
		{"build", "bash -c 'cat .env'", Denied},
		{"build", "cd sub && cat ../.env", Denied},
		{"build", "echo x > .git/config", Denied},
		{"build", "echo x > .GIT/config", Denied},
		{"build", "cd .git && echo x > config", Denied},
		{"build", "echo x > ../work-beside/new", Denied},
		{"build", "touch $HOME/x", Denied},
		{"build", "cat ~/.ssh/id", Denied},
		{"build", "cat ~root/.ssh/id", Denied},
		{"build", "cd ~root && cat .ssh/id", Denied},
		{"build", "echo x > ~root/no/such/x", Denied},
		{"build", "cat ../work-beside/secret", Denied},
		{"build", "cat out/secret", Denied},
		{"build", "cd link/.. && cat secret", Denied},
		{"build", "cat /root/.bashrc", Denied},
		{"build", "cat /proc/self/environ", Denied},
		{"review", "git status --help > /dev/null 2>&1 || true; ls | sort | head -n 3", Completed},
		{"review", "git status && rm a.txt", Denied},
		{"review", "ls; touch x", Denied},
		{"review", "ls $(touch x)", Denied},
		{"review", "echo x > a.txt", Denied},
		{"review", "sort -o a.txt a.txt", Denied},
		{"review", "find . -name x -delete", Denied},
		{"review", "env touch x", Denied},
		{"review", "X=1", Denied},
		{"review", "$CMD", Denied},
		{"review", "cat .env", Denied},
	}
	for _, tt := range tests {
		t.Run(tt.preset+"/"+tt.command, func(t *testing.T) {
			s := setUp(t, tt.preset, files)
			s.symlink(s.outside, "out")
			s.symlink(filepath.Join(s.outside, "sub"), "link")
			s.put("../work-beside/sub/", "")
			before := s.tree()
			s.want(s.call("bash", args{"command": tt.command}), tt.want)
			if tt.want == Denied {
				s.unchanged(before)
			}
		})
	}
}

func TestRuleMatchesWrappedCommand(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": ""})
	s.deny("bash", "rm *")
	before := s.tree()
	for _, command := range []string{
		"rm a.txt", "/bin/rm a.txt", "r'm' a.txt", `\rm a.txt`, "true && rm a.txt", "ls | xargs rm", "sudo rm a.txt", "env -i X=1 rm a.txt",
		"timeout 5 rm a.txt", "bash -c 'rm a.txt'", "eval rm a.txt", "echo $(rm a.txt)", "f() { rm a.txt; }; f", "find . -exec rm {} +",
		"(rm a.txt)", "if true; then rm a.txt; fi", "nohup rm a.txt &", "X=rm; $X a.txt", "command rm a.txt", "rm a.txt # ls", "ls\nrm a.txt",
	} {
		out := s.call("bash", args{"command": command})
		s.want(out, Denied, `bash: {"rm *": deny}`)
		if out.Decision != nil && out.Decision.Source != "m.yaml:4" {
			t.Errorf("%s: decided by %+v", command, out.Decision)
		}
	}
	s.unchanged(before)
}

func TestHomeFilesWithoutHOME(t *testing.T) {
	s := setUp(t, "build", nil)
	s.env.ChildEnv = []string{"PATH=" + os.Getenv("PATH")}
	for _, command := range []string{"cat ~/x", "cat $HOME/x", "cd ~; cat x", "echo x > ~/no/such/x"} {
		s.want(s.call("bash", args{"command": command}), Denied, `"~`)
	}
	s.env.ChildEnv = append(s.env.ChildEnv, "HOME="+s.dir)
	s.want(s.call("bash", args{"command": "echo x > ~/x; cat ~/x"}), Completed, "x\n")
}

func TestTruncatedBashOutputIsValidUTF8(t *testing.T) {
	s := setUp(t, "build", nil)
	for _, unit := range nightly.Sample([]string{"é", "日本", "🙂x", `\377`, `\001"`, `\302`}, 3, 0) {
		out := s.call("bash", args{"command": "for i in {1..20000}; do printf '" + unit + "'; done"})
		s.want(out, Completed)
		if !utf8.ValidString(out.Output) || jsonSize(out.Output) > defaultBytes+500 {
			t.Errorf("%s: %d bytes, valid: %v", unit, len(out.Output), utf8.ValidString(out.Output))
		}
	}
}

// cd runs nothing: only its directory is decided, whether a command follows or not.
func TestCdNeedsNoRuleOfItsOwn(t *testing.T) {
	s := setUp(t, "build", map[string]string{"sub/x": "", "hidden/x": ""})
	s.env.Profile.Rules = append(s.env.Profile.Rules,
		permission.Rule{Permission: "bash", Pattern: "*", Source: "m.yaml:1"},
		permission.Rule{Permission: "bash", Pattern: "git *", Effect: permission.Allow, Source: "m.yaml:2"},
		permission.Rule{Permission: "edit", Pattern: "hidden/**", Source: "m.yaml:3"},
		permission.Rule{Permission: "read", Pattern: "hidden/**", Source: "m.yaml:4"})
	for line, want := range map[string]bool{
		"cd .": true, "cd sub": true, "cd sub && cd ..": true, "(cd sub)": true, "cd sub && git log": true,
		"cd hidden": false, "cd ../..": false, "cd $(ls)": false, "cd . && ls": false, "cd .; > hidden/x": false, "ls": false, "x=1": false, "pushd sub": false, "cd() { ls; }; cd": false,
		"cd": false, "cd $x": false, // outside, and anywhere
	} {
		decisions, err := Decide(s.env, "bash", line)
		if err != nil {
			t.Fatal(err)
		}
		if allowed := !slices.ContainsFunc(decisions, func(d permission.Decision) bool { return !d.Allowed() }); allowed != want {
			t.Errorf("%s: allowed is %v, want %v: %+v", line, allowed, want, decisions)
		}
	}
	if out := s.call("bash", args{"command": "cd sub"}); out.Status != Completed {
		t.Errorf("%+v", out)
	}
}

// A rule for what is in a directory speaks of a command that names the
// directory, or a wildcard in it; a file that is only known at run time may be
// in it.
func TestRulesForADirectoryCoverIt(t *testing.T) {
	s := setUp(t, "build", map[string]string{"safe/x": "", "guarded/x": "", "hidden/x": ""})
	s.env.Profile.Rules = append(s.env.Profile.Rules,
		permission.Rule{Permission: "edit", Pattern: "guarded/**", Source: "m.yaml:1"},
		permission.Rule{Permission: "read", Pattern: "hidden/**", Source: "m.yaml:2"})
	for line, want := range map[string]bool{
		"rm -r guarded": false, "rm guarded/*": false, "cp -r safe guarded": false, "cp safe/x guarded/": false, "mv guarded elsewhere": false,
		"tar -xf a.tar -C guarded": false, "ls hidden": false, "cat hidden/*": false, "cd hidden && ls": false,
		"f=guarded/x; rm $f": false, "touch safe/*": true, "rm -r safe": true, "ls safe": true, "ls guarded": true, "cat $f": true,
	} {
		decisions, err := Decide(s.env, "bash", line)
		if err != nil {
			t.Fatal(err)
		}
		allowed := !slices.ContainsFunc(decisions, func(d permission.Decision) bool { return !d.Allowed() })
		if allowed != want {
			t.Errorf("%s: allowed is %v, want %v: %+v", line, allowed, want, decisions)
		}
	}
}
