package scripts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/proc/signals"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/lsptest"
	"github.com/millhand/millhand/internal/testing/mcptest"
	"github.com/millhand/millhand/internal/testing/telemetrytest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// Main runs the tests of a package, in which millhand is a command of scripts. Each run of it
// would search /usr/local and /opt for private files, which can contain hundreds of thousands
// of files of Go and other languages; it does so only in packages that change it.
func Main(m *testing.M, change ...func(*world.World)) {
	if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(os.Interrupt) {
		// As in the background of a shell script. Servers of scripts would ignore it, too, and a script waits
		// for theirs to end.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	change = append([]func(*world.World){func(w *world.World) { w.System = []string{"/etc"} }, sharedClock}, change...)
	testscript.Main(m, map[string]func(){
		"millhand":             func() { command.Start(signals.Catch(), command.SameSignal, change...) },
		"millhand-signals-1ms": func() { command.Start(signals.Catch(), time.Millisecond, change...) }, // signals 1 ms apart are distinct
		"without-namespaces":   withoutNamespaces,
		"language-server":      func() { os.Exit(lsptest.Main(os.Args[1:], os.Environ, os.Exit)) },
		"mcp-server":           func() { os.Exit(mcptest.Main(os.Args[1:], os.Environ, os.Exit)) },
		"queue-server":         queueServer,
	})
}

// Run runs the scripts of the package in testdata/script; with -short only the named ones.
func Run(t *testing.T, short ...string) {
	t.Helper()
	checkRequired(t)
	p := params(t)
	if testing.Short() {
		if len(short) == 0 {
			t.Skip("the scripts are long, and run without -short")
		}
		for _, name := range short {
			p.Files = append(p.Files, filepath.Join(p.Dir, name+".txtar"))
		}
		p.Dir = ""
	}
	testscript.Run(t, p)
}

// RunFiles runs scripts that a test has written.
func RunFiles(t *testing.T, files ...string) {
	t.Helper()
	p := params(t)
	p.Dir, p.Files = "", files
	testscript.Run(t, p)
}

func params(t *testing.T) testscript.Params {
	t.Helper()
	return testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			if cond == "nightly" {
				return nightly.On(), nil
			}
			if cond == "modules" { // whether Go's module proxy can be reached
				return reached("go", exec.Command("go", "list", "-m", "golang.org/x/exp@v0.0.0-20230522175609-2e198f4a06a1"))
			}
			if n, ok := strings.CutPrefix(cond, "ioutil-modules:"); ok { // whether Go's module cache has so many modules that use io/ioutil
				most, err := strconv.Atoi(n)
				if err != nil {
					return false, err
				}
				modules, err := UsesIoutil()
				return len(modules) >= most, err
			}
			if cond == "race" { // whether programs of the test have the race detector
				return raceDetector(), nil
			}
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if cond == "npm" { // whether npm's registry can be reached
				return reached("npm", exec.Command("npm", "view", "lodash@4.17.21", "version"))
			}
			if cond == "pip" { // whether Python of the system has pip
				return exec.Command("/usr/bin/python3", "-m", "pip", "--version").Run() == nil, nil
			}
			if cond == "sshd" { // whether an sshd works here
				return hasSSH()
			}
			if cond == "mknod" { // whether a script may make a device and write to it
				null := filepath.Join(t.TempDir(), "null")
				return exec.Command("sh", "-c", `mknod -m 666 "$0" c 1 3 && : >"$0"`, null).Run() == nil, nil
			}
			if cond == "mounts" { // whether a script may make a directory read-only to root, too
				return exec.Command("unshare", "-m", "true").Run() == nil, nil
			}
			if cond == "userns" { // whether a script may make user namespaces, and forbid more of them in there
				return exec.Command("unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces").Run() == nil, nil
			}
			if host, ok := strings.CutPrefix(cond, "public:"); ok { // whether a host has only public addresses
				return public(t.Context(), host), nil
			}
			if level, ok := strings.CutPrefix(cond, "sandbox:"); ok { // what the machine can confine commands to
				return string(sandbox.Probe(t.Context(), t.TempDir()).Best) == level, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Values[providedKey{}] = &provided{servers: map[string]*wiretest.Server{}}
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "Tess Tester")
				env.Setenv("GIT_"+who+"_EMAIL", "tess@example.com")
			}
			env.Setenv("REALHOME", os.Getenv("HOME")) // where Go's caches are
			env.Setenv("ROOT", Root(t))
			env.Setenv("NODE_EXTRA_CA_CERTS", os.Getenv("NODE_EXTRA_CA_CERTS")) // of machines whose proxy terminates TLS
			if program, err := exec.LookPath("millhand"); err == nil {          // for scripts with another PATH
				env.Setenv("MILLHAND", program)
			}
			env.Values[collectorKey{}] = &telemetrytest.Collector{}
			env.Values[forgeKey{}] = &forgetest.Server{}
			env.Values[disturbedKey{}] = new(disturbed)
			env.Values[served{}] = new(*wiretest.Server)
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"wire": wire, "cloud-proxy": cloudProxy, "asked": asked, "sent": sent, "repo": repo, "exits": exits, "cp-dir": copyDir, "block": block, "replace": replace,
			"waitfor": waitFor, "limited": limited, "gone": gone, "no-strays": noStrays, "hold-stdin": holdStdin, "glob": glob,
			"same-trees": sameTrees, "same-reports": sameReports, "same-runs": sameRuns, "jobs": jobFields,
			"remote": remote, "forget": forget, "git-http": gitHTTP, "ssh-server": serveSSH, "next-push": disturb,
			"forge": serveForge, "forge-fails": failForge, "forge-repo": changeRepo, "forge-scopes": scopeForge, "forge-set": setForge, "forge-check": checkForge,
			"forge-remark": remarkForge, "forge-writers": writersOfForge, "forge-notes": forgeNotes, "forge-issues": forgeIssues, "forge-pull": forgePull,
			"pulls": pullRequests, "github-app": githubApp, "modules": modules, "ioutil-modules": ioutilModules, "pushed": pushed,
			"calls": toolCalls, "address": address, "endless": endless, "lines": lines,
			"endpoint": endpoint, "smaller": smaller, "goproxy": goProxy, "npm-registry": npmRegistry, "http-dir": httpDir, "mcp-remote": serveMCP,
			"spelled": eachFault(spelled), "refused": eachFault(refused), "retried": eachFault(retried),
			"provider": provide, "hole": hole, "charged": charged, "same-bytes": sameBytes, "costs": costs,
			"collector": serveCollector, "spans": spans, "queue-url": queueURL, "last-line": lastLine,
		},
	}
}

// Root returns the root directory of the module, "" if the tests run outside of it.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return ""
}

// repo makes a directory a repository with one commit, on branch main.
func repo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	for _, git := range [][]string{
		{"init", "-q", "-b", "main", dir}, {"-C", dir, "add", "-A"}, {"-C", dir, "commit", "-q", "-m", "start", "--allow-empty"},
	} {
		ts.Check(ts.Exec("git", git...))
	}
}

// exits runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD...")
	}
	if code := exitOf(ts, args[1:]); code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// exitOf runs a command and returns its exit code.
func exitOf(ts *testscript.TestScript, command []string) string {
	err := ts.Exec(command[0], command[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	ts.Check(err)
	return "0"
}

// copyDir copies a directory: cp of testscript's own copies only files.
func copyDir(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cp-dir FROM TO")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

// replace replaces every occurrence of a text, of which there must be one.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o644))
}

// sameTrees compares the trees of a branch in two repositories.
func sameTrees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: same-trees REPO REPO BRANCH")
	}
	var trees []string
	for _, repo := range args[:2] {
		out, err := exec.Command("git", "-C", ts.MkAbs(repo), "rev-parse", args[2]+"^{tree}").Output()
		ts.Check(err)
		trees = append(trees, string(out))
	}
	if trees[0] != trees[1] {
		ts.Fatalf("the trees differ: %q", trees)
	}
}

// sameReports compares two runs' report.json except for values that differ: times,
// ids, hashes, the model's name, and what the commands print of times.
func sameReports(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-reports DIR DIR")
	}
	var runs []any
	for _, dir := range args {
		var doc any
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(dir, "report.json"))), &doc))
		runs = append(runs, withoutWhatDiffers(doc))
	}
	if diff := gocmp.Diff(runs[0], runs[1]); diff != "" {
		ts.Fatalf("the reports differ:\n%s", diff)
	}
}

func withoutWhatDiffers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, sub := range v {
			switch key {
			case "started_at", "finished_at", "elapsed_ms", "id", "session", "hash", "message", "model", "model_served", "finish", "child_session", "output_path", "plan_hash", "tail", "output_bytes", "warnings":
				delete(v, key)
			default:
				v[key] = withoutWhatDiffers(sub)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutWhatDiffers(v[i])
		}
	}
	return v
}

// Patience limits every wait of a script: minutes, because a busy machine is slow.
const Patience = 5 * time.Minute

// waitFor waits until a file matches a regular expression.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE REGEXP")
	}
	want, file := regexp.MustCompile(args[1]), ts.MkAbs(args[0])
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if data, err := os.ReadFile(file); err == nil && want.Match(data) {
			return
		}
	}
	ts.Fatalf("%s never matched %s", file, want)
}

// gone waits until a process is gone, or is only there to be reaped.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	ts.Fatalf("process %s is still there", pid)
}

// noStrays waits until no process has the script's MILLHAND_STRAY in its
// environment. Whoever was killed is gone in a moment; what got away stays.
func noStrays(ts *testscript.TestScript, neg bool, args []string) {
	mark := ts.Getenv("MILLHAND_STRAY")
	if neg || len(args) != 0 || mark == "" {
		ts.Fatalf("usage: no-strays, with MILLHAND_STRAY set")
	}
	var left []string
	for end := time.Now().Add(strayPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left = nil
		found, err := filepath.Glob("/proc/[0-9]*") // with /environ it would list each of these directories
		ts.Check(err)
		for _, dir := range found {
			if env, err := os.ReadFile(dir + "/environ"); err == nil && strings.Contains(string(env), "MILLHAND_STRAY="+mark+"\x00") {
				line, _ := os.ReadFile(dir + "/cmdline")
				left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		if len(left) == 0 {
			return
		}
	}
	ts.Fatalf("still alive: %q", left)
}

// strayPatience is less than what a stray of the scripts would live.
const strayPatience = 5 * time.Minute

// holdStdin runs a command with a pipe as standard input that nobody writes to
// or closes.
func holdStdin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: hold-stdin CMD...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	defer r.Close()
	defer w.Close()
	path, err := exec.LookPath(filepath.Join(strings.SplitN(ts.Getenv("PATH"), ":", 2)[0], args[0]))
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Stdin, cmd.Dir = r, ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
}

// glob checks that a pattern matches a file.
func glob(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: glob PATTERN")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(found) == 0) != neg {
		ts.Fatalf("%s matches %q", args[0], found)
	}
}

// toolCalls prints fields of each call of a report, a line a call, those of
// children last.
func toolCalls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: calls DIR FIELD...")
	}
	var doc struct {
		Jobs []struct {
			Calls []map[string]any `json:"calls"`
		} `json:"jobs"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], "report.json"))), &doc))
	for _, j := range doc.Jobs {
		slices.SortStableFunc(j.Calls, func(a, b map[string]any) int {
			return cmp.Compare(field(a, "session"), field(b, "session"))
		})
		for _, c := range j.Calls {
			var values []string
			for _, name := range args[1:] {
				values = append(values, field(c, name))
			}
			fmt.Fprintln(ts.Stdout(), strings.Join(values, " "))
		}
	}
}

// address puts the address in the file named first in place of that of the
// example's server in the other files.
func address(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: address FILE FILE...")
	}
	at := strings.TrimSpace(ts.ReadFile(args[0]))
	for _, file := range args[1:] {
		text := strings.ReplaceAll(ts.ReadFile(file), "127.0.0.1:8471", at)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o644))
	}
}

func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
