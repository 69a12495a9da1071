//go:build linux

package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// honest is a command that must succeed in a sandbox with the output want.
type honest struct {
	name, line, want string
	gap              bool   // known to fail at level Partial
	needs            string // for bash: it is tried only where this succeeds
}

func honestWork() []honest {
	return append(honestSockets(), []honest{
		{name: "files in the workspace", line: `mkdir -p a/b; echo x >a/b/c; cp -r a d; mv d e; ln -s e/b l; cat l/c; chmod 755 e/b/c; touch -d 2001-01-01 e/b/c; rm -r a e l`, want: "x"},
		{name: "temporary files", line: `f=$(mktemp) && d=$(mktemp -d) && echo x >$f && cp $f $d/y && cat $d/y; case $f in $TMPDIR/*) echo private;; esac`, want: "x\nprivate"},
		{name: "files in /tmp", line: `echo x >/tmp/millhand-honest && cat /tmp/millhand-honest`, want: "x", gap: true},
		{name: "files in the home directory", line: `echo x >~/.config-x && cat "$HOME/.config-x"`, want: "x"},
		{name: "a file renamed between directories", line: `echo x >f && mv f $TMPDIR/g && mv $TMPDIR/g ~/h && cat ~/h`, want: "x"},
		{name: "devices", line: `echo x >/dev/null; head -c3 /dev/zero | wc -c; head -c4 /dev/urandom | wc -c; echo y >/dev/stdout; echo z >/dev/stderr`, want: "3\n4\ny\nz"},
		{name: "pipes and substitutions", line: `seq 1000 | sort -rn | head -1; diff <(echo a) <(echo a) && cat <<<b`, want: "1000\nb"},
		{name: "a large sort", line: `seq 200000 | sort -S 1M -R | sort -n -S 1M | tail -1`, want: "200000"},
		{name: "background processes", line: `for i in 1 2 3; do (sleep 0.0$i; echo $i >o$i) & done; wait; cat o1 o2 o3`, want: "1\n2\n3"},
		{name: "job control", line: `exec 2>/dev/null; set -m; sleep 100 & kill %1; wait %1; echo $?`, want: "143"},
		{name: "signals among processes", line: `trap 'echo got' USR1; (kill -USR1 $$); wait; setsid sleep 100 & p=$!; kill $p; wait $p; echo $?`, want: "got\n143"},
		{name: "a timeout", line: `timeout 0.1 sleep 100; echo $?`, want: "124"},
		{name: "many processes", line: `seq 60 | xargs -P8 -n1 sh -c 'echo $0' | wc -l`, want: "60"},
		{name: "many pipelines", line: `sh -c 'for i in $(seq 300); do echo a | cat >/dev/null || exit; done; echo ok'`, want: "ok"}, // signals interrupt system calls
		{name: "processes of its own", line: `ps -o comm= -p $$ && test -r /proc/self/status && nproc >/dev/null && echo ok`, want: "bash\nok", needs: `command -v ps`},
		{name: "an archive", line: `echo x >f; tar -czf a.tgz f && rm f && tar -xzf a.tgz && cat f`, want: "x"},
		{name: "Python", line: `python3 -c 'import subprocess,tempfile,json; print(subprocess.check_output(["echo","x"],text=True).strip(), json.dumps({}))'`, want: "x {}"},
		{name: "threads and pairs of sockets", line: `python3 -c '
import threading,socket
a,b=socket.socketpair(); t=threading.Thread(target=lambda: a.send(b"x")); t.start(); t.join(); print(b.recv(1).decode())'`, want: "x"},
		{name: "processes with shared memory", line: `python3 -c '
import multiprocessing as m
with m.Pool(2) as p: print(sum(p.map(abs,[-1,-2])))'`, want: "3", gap: true},
		{name: "Node", line: `node -e 'require("child_process").exec("echo x",(e,o)=>console.log(e,o.trim(),require("os").cpus().length>0))'`, want: "null x true", needs: `command -v node`},
		{name: "a compiler", line: `printf 'int main(){return 42;}' >m.c && cc -o m m.c && ./m; echo $?`, want: "42", needs: `command -v cc`},
		{name: "make", line: `printf 'a: b\n\tcp b a\nb:\n\techo x >b\n' >Makefile && make -s -j2 && cat a`, want: "x", needs: `command -v make`},
		{name: "git looks", line: `cd repo && git status --short && git log --oneline | wc -l && echo y >>file && git diff --stat | tail -1 && git show HEAD:file && git stash list && git blame -s file | wc -l`, want: "1\n 1 file changed, 1 insertion(+)\none\n2"},
		{name: "git looks from a linked work tree", line: `cd tree && git status --short && git log --oneline | wc -l && echo y >>file && git diff --stat | tail -1`, want: "1\n 1 file changed, 1 insertion(+)"},
		{name: "a repository of its own", line: `git init -q new && cd new && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -qm m && git clone -q . ../copy && git -C ../copy log --oneline | wc -l`, want: "1"},
		{name: "a server on loopback", line: `python3 -c '
import socket,threading
l=socket.create_server(("127.0.0.1",0)); threading.Thread(daemon=True,target=lambda: l.accept()[0].send(b"x")).start()
print(socket.create_connection(l.getsockname()).recv(1).decode())'`, want: "x", gap: true},
		{name: "a server on a socket in the file system", line: `python3 -c '
import socket,threading
l=socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(); threading.Thread(daemon=True,target=lambda: l.accept()[0].send(b"x")).start()
s=socket.socket(socket.AF_UNIX); s.connect("s"); print(s.recv(1).decode())'`, want: "x", gap: true},
		{name: "a terminal", line: `script -qc 'tty >/dev/null && echo yes' /dev/null | tr -d '\r'`, want: "yes", gap: true, needs: `command -v script`},
		{name: "here-documents", line: "cat >f <<'E'\n$x `y`\nE\ncat <<E >>f\n$((1+1))\nE\nbash -s <<<'cat f'", want: "$x `y`\n2"},
		{name: "a pipe with a name", line: `mkfifo p; (echo x >p) & cat p; wait`, want: "x"},
		{name: "a coprocess", line: `coproc cat; echo x >&${COPROC[1]}; read -u ${COPROC[0]} y; kill $COPROC_PID; wait; echo $y`, want: "x"},
		{name: "locks", line: `flock l -c 'flock -n l -c "echo both" || echo one'`, want: "one"},
		{name: "texts through many programs", line: `printf 'b 2\na 1\nb 3\n' | awk '{n[$1]+=$2} END {for (k in n) print k, n[k]}' | sort | sed s/a/x/ | tr ' ' = | paste -sd, | tee f; find . -name f -print0 | xargs -0 grep -c b`, want: "x=1,b=5\n1"},
		{name: "edits in place", line: `printf 'one\ntwo\n' >f; sed -i s/one/1/ f && perl -i -pe 's/two/2/' f; cat f`, want: "1\n2", needs: `command -v perl`},
		{name: "a large file", line: `head -c 20000000 /dev/zero >f && cp f g && cmp f g && du -k g | cut -f1 && truncate -s 5 g && stat -c %s g`, want: "19532\n5"},
		{name: "a library and a program", line: `printf 'int f(void){return 7;}' >f.c; printf 'int f(void);int main(void){return f();}' >m.c; printf 'm: m.o libf.a\n\t$(CC) -o m m.o -L. -lf\nlibf.a: f.o\n\tar rc libf.a f.o\n' >Makefile; make -sj4 m && ./m; echo $?`, want: "7", needs: `command -v make && command -v cc && command -v ar`},
		{name: "tests of Python", line: `printf 'import unittest\nclass T(unittest.TestCase):\n  def test(self): self.assertEqual(1,1)\n' >test_t.py; python3 -m unittest -q 2>&1 | tail -1`, want: "OK"},
		{name: "a database", line: `python3 -c 'import sqlite3; c=sqlite3.connect("d"); c.execute("pragma journal_mode=wal"); c.execute("create table t(x)"); c.execute("insert into t values(1)"); c.commit(); print(c.execute("select * from t").fetchall())'`, want: "[(1,)]", needs: `python3 -c 'import sqlite3; print(1)'`},
		{name: "tests of Node", line: `echo 'require("node:test")("t",()=>{})' >t.js; node --test t.js | grep -c '^# pass 1\|ℹ pass 1'`, want: "1", needs: `command -v node`},
		{name: "a script of npm", line: `echo '{"name":"x","version":"1.0.0","scripts":{"test":"echo tested"}}' >package.json; npm test --silent`, want: "tested", needs: `command -v npm`},
		{name: "git compares", line: `cd repo && git diff --no-index --stat file /dev/null | tail -1; git archive HEAD | tar -t; git ls-files; git grep -c one`, want: " 1 file changed, 1 deletion(-)\nfile\nfile\nfile:1"},
		{name: "a patch", line: `cd repo && echo two >file && git diff >../p && echo one >file && patch -sp1 <../p && cat file`, want: "two", needs: `command -v patch`},
		{name: "names of users", line: `test -n "$(id -un)" && stat -c %U . >/dev/null && ls -ld . >/dev/null && echo ok`, want: "ok"},
		{name: "control groups", line: `python3 -c '
import os
own=dict(l.strip().split(":",2)[1:] for l in open("/proc/self/cgroup"))
for l in open("/proc/self/mountinfo"):
  (_,_,_,root,at,*_),(kind,_,options,*_)=[half.split() for half in l.split(" - ")]
  for name,group in own.items():
    if kind=="cgroup2" and not name or kind=="cgroup" and name and set(name.split(","))<=set(options.split(",")):
      procs=os.path.join(at,os.path.relpath(group,root),"cgroup.procs")
      if str(os.getpid()) not in open(procs).read().split(): print("not in",procs)
print("ok")'`, want: "ok", needs: `grep -m1 ' - cgroup' /proc/self/mountinfo`},
		{name: "an exit on failure", line: `set -euo pipefail; false | true; echo not reached`, want: ""},
	}...)
}

// repositories creates a repository in the workspace and a linked worktree of
// another one outside of it.
const repositories = `set -e
mkdir repo "$OUT/main"
for d in repo "$OUT/main"; do (cd $d; git init -q .; git config user.email a@b; git config user.name a; echo one >file; git add .; git commit -qm one); done
git -C "$OUT/main" worktree add -q "$WS/tree"`

func TestOrdinaryCommandsSucceed(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	everywhere := slices.DeleteFunc(honestWork(), func(h honest) bool { return h.gap })
	if len(everywhere) < 30 {
		t.Errorf("only %d pieces of work succeed at every level", len(everywhere))
	}
	for i, h := range honestWork() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, level := range sampled(i, h.gap) {
				p := newFixture(t)
				if h.needs != "" && unguarded(t, p.dir, h.needs) == "" {
					t.Skip("this machine lacks what it takes")
				}
				unguarded(t, p.workspace, repositories, "OUT="+p.outside, "WS="+p.workspace)
				spec := p.spec()
				spec.Grants = []Grant{NewGrant(filepath.Join(p.workspace, "repo/.git"), false), NewGrant(filepath.Join(p.workspace, "tree/.git"), false), NewGrant(filepath.Join(p.outside, "main/.git"), false)}
				s := inside(t, spec, level)
				got := bash(t, s, h.line)
				worked := got.err == nil && strings.TrimRight(got.output, "\n") == h.want
				if known := level == Partial && h.gap; worked == known {
					t.Errorf("%s: worked: %t, a known gap: %t; %+v, %v, output: %s", level, worked, known, got.ending, got.err, got.output)
				}
			}
		})
	}
}

// Builds and tests without a network. What the user's build cache has is not compiled
// again.
func TestGoBuildsAndTestsOffline(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			files := map[string]string{
				"go.mod":    "module example.com/m\n\ngo 1.26\n",
				"m.go":      "package m\n\nimport \"os\"\n\nfunc M() string { return os.Getenv(\"HOME\") }\n",
				"m_test.go": "package m\n\nimport (\"testing\"; \"os\"; \"path/filepath\")\n\nfunc TestM(t *testing.T) { if M() == \"\" { t.Fatal() }; if err := os.WriteFile(filepath.Join(t.TempDir(), \"x\"), nil, 0o600); err != nil { t.Fatal(err) } }\n",
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(p.workspace, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			own := filepath.Join(p.dir, "own")
			users := strings.TrimSpace(unguarded(t, p.workspace, "go vet ./... && go test ./... >/dev/null && go env GOCACHE", "HOME="+os.Getenv("HOME")))
			variable, program, ok := GoCache(users, own)
			if err := os.Mkdir(own, 0o755); err != nil || !ok {
				t.Fatal(err, ok)
			}
			spec := p.spec()
			spec.Grants = []Grant{NewGrant(own, true), NewGrant(users, false)}
			spec.Programs = append(Toolchains("", "/usr/local/go/bin:/usr/bin"), program)
			s := inside(t, spec, level)
			got := bash(t, s, "go vet ./... && go test ./... && echo fine", variable, "GOCACHE="+own, "GOPROXY=off", "GOTOOLCHAIN=local")
			if got.err != nil || !strings.HasSuffix(got.output, "fine\n") {
				t.Errorf("%+v, %v: %s", got.ending, got.err, got.output)
			}
			if n := strings.TrimSpace(unguarded(t, own, "find . -type f -printf '%s\n' | awk '{n += $1} END {print n+0}'")); len(n) > 6 {
				t.Errorf("%s bytes were written although the cache was warm", n)
			}
		})
	}
}

// No process outlives the command, however it tries to escape.
func TestNoProcessOutlivesItsCommand(t *testing.T) {
	ways := map[string]string{
		"in the background":       `sleep 1000 & echo $! >pid`,
		"in a session of its own": `setsid sleep 1000 & echo $! >pid`,
		"as an orphan":            `setsid bash -c '(setsid sleep 1000 & echo $! >pid)'; until test -s pid; do sleep 0.01; done`,
		"ignoring signals":        `setsid bash -c 'trap "" TERM HUP INT; echo $$ >pid; while :; do sleep 1; done' & until test -s pid; do sleep 0.01; done`,
		"adopting orphans itself": py2(`libc.prctl(36,1)
if os.fork()==0:
  os.setsid()
  open("pid","w").write(str(os.getpid())); os.fork(); os.execvp("sleep",["sleep","1000"])
while not (os.path.exists("pid") and os.path.getsize("pid")): pass`),
	}
	for name, line := range ways {
		t.Run(name, func(t *testing.T) {
			for _, level := range confining() {
				t.Run(string(level), func(t *testing.T) {
					p := newFixture(t)
					s := inside(t, p.spec(), level)
					marker := "MILLHAND_MARK=" + p.dir
					got := bash(t, s, line, marker, "VICTIM=0", "OUT=x")
					if pid, err := os.ReadFile(filepath.Join(p.workspace, "pid")); err != nil || len(pid) == 0 {
						t.Fatalf("nothing was started: %v %s", err, got.output)
					}
					if left := marked(t, marker); len(left) != 0 {
						t.Errorf("alive: %v", left)
					}
				})
			}
		})
	}
}

func py2(code string) string {
	return "python3 -c 'import os,ctypes\nlibc=ctypes.CDLL(None)\n" + code + "'"
}

// marked lists the processes that have a variable in their environment.
func marked(t *testing.T, variable string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*") // with /environ it would list each of these directories
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range processes {
		f := p + "/environ"
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte(variable)) {
			found = append(found, f)
		}
	}
	return found
}

// If the parent is killed, the command and all its descendants are killed.
func TestNoProcessOutlivesTheParent(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			inside(t, p.spec(), level)
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestParentThatIsKilled$")
			cmd.Env = append(os.Environ(), "MILLHAND_TEST_PARENT="+p.dir, "MILLHAND_TEST_LEVEL="+string(level))
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ready := filepath.Join(p.workspace, "pid")
			waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
			next, err := os.ReadFile(ready)
			waits := func() bool { // the process for the next command
				name, _ := os.ReadFile("/proc/" + string(next) + "/cmdline")
				return strings.HasPrefix(string(name), child.Name)
			}
			marker := "MILLHAND_MARK=" + p.dir
			if err != nil || !waits() || len(marked(t, marker)) == 0 {
				t.Errorf("processes are missing: %v", err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			waitFor(t, func() bool { return len(marked(t, marker)) == 0 && !waits() })
		})
	}
}

// waitFor waits for an event that must happen soon.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it doesn't come about")
		}
	}
}

// TestParentThatIsKilled is a process of TestNoProcessOutlivesTheParent.
func TestParentThatIsKilled(t *testing.T) {
	dir := os.Getenv("MILLHAND_TEST_PARENT")
	if dir == "" {
		t.Skip("only as a process of another test")
	}
	p := fixture{dir: dir, workspace: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), tmp: filepath.Join(dir, "tmp")}
	s := inside(t, p.spec(), Level(os.Getenv("MILLHAND_TEST_LEVEL")))
	cmd, l := start(t, s, io.Discard, []string{"MILLHAND_MARK=" + dir}, p.workspace, "bash", "-c", `setsid sleep 1000 & sleep 1000 & echo x >p; wait`)
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(p.workspace, "p")); return err == nil })
	next := filepath.Join(p.dir, "next")
	if err := os.WriteFile(next, []byte(strconv.Itoa(ahead(t, s).process.Pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(p.workspace, "pid")); err != nil {
		t.Fatal(err)
	}
	finish(t, cmd, l)
}
