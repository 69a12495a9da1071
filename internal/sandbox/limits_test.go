//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestLimitsOfMemoryAndProcessesHold(t *testing.T) {
	tests := []struct {
		name, line, want string
		limits           Limits
	}{
		{"core dumps", `ulimit -c`, "0\n", Limits{}},
		{"the size of files", `head -c 3000000 /dev/zero >f 2>/dev/null; stat -c %s f`, "1048576\n", Limits{FileBytes: 1 << 20}},
		{"memory", `python3 -c 'bytearray(1<<33)' 2>&1 | tail -1`, "MemoryError\n", Limits{DataBytes: 1 << 32}},
		{"processes", `python3 -c '
import os,resource,time
hard=resource.getrlimit(resource.RLIMIT_NPROC)[1]
for limit in (hard,-1):
  try: resource.setrlimit(resource.RLIMIT_NPROC,(limit,limit))
  except ValueError: pass
n=0
try:
  while n<1000:
    if os.fork()==0: time.sleep(1000)
    n+=1
  time.sleep(5)
except BlockingIOError: print("some" if n>=30 else n)'`, "some\n", Limits{Pids: 60}},
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			for _, tt := range tests {
				spec := newFixture(t).spec()
				spec.Limits = tt.limits
				s := inside(t, spec, level)
				if tt.limits.Pids > 0 && !limitsForks(s) {
					continue
				}
				got := bash(t, s, tt.line)
				if got.err != nil || !strings.HasSuffix(got.output, tt.want) {
					t.Errorf("%s: got %q, %+v, %v; want %q", tt.name, got.output, got.ending, got.err, tt.want)
				}
			}
		})
	}
}

// limitsForks reports whether the process limit is enforced: RLIMIT_NPROC
// does not apply to root.
func limitsForks(s *Sandbox) bool {
	return os.Geteuid() != 0 || s.group != nil || s.level == Full && ownPIDMax(kernel())
}

func TestKernelsWithNamespacedPIDMax(t *testing.T) {
	for release, want := range map[string]bool{
		"6.14.0": true, "6.18.44-fc-v669": true, "7.0.1": true, "6.14-rc1": true,
		"6.13.12": false, "6.1.0-56-cloud-amd64": false, "5.15.0": false, "6": false, "unknown": false, "": false,
	} {
		if got := ownPIDMax(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}

// The limit of processes and threads is enforced by any mechanism. pid_max
// is less exact: the lowest 300 PIDs are not counted.
func TestProcessesAndThreadsAreLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	programs := map[string]string{
		"processes": `
def start():
  if os.fork() == 0: time.sleep(1000)`,
		"threads": `
def start(): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()`,
		"both, by children": `
def start():
  if os.fork() == 0:
    while True:
      try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
      except RuntimeError: time.sleep(1000)`,
	}
	const count = `
for i in range(1000):
  try: start()
  except (BlockingIOError, RuntimeError): break
else: time.sleep(5)
time.sleep(0.2)
tasks = 0
for p in os.listdir("/proc"):
  try: tasks += p.isdigit() and os.environb[b"MARK"] in open(f"/proc/{p}/environ", "rb").read() and len(os.listdir(f"/proc/{p}/task"))
  except OSError: pass
print("tasks:", tasks)`
	for _, level := range confining() {
		for name, start := range programs {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				p := newFixture(t)
				spec := p.spec()
				spec.Limits.Pids = 60
				s := inside(t, spec, level)
				if !limitsForks(s) {
					t.Skip("only a control group limits root's processes here")
				}
				most := 120
				if os.Geteuid() == 0 && s.group == nil {
					most += 300
				}
				got := bash(t, s, "python3 -c 'import os,time,threading"+start+count+"'", "MARK="+p.dir)
				_, after, _ := strings.Cut(got.output, "tasks: ")
				tasks, err := strconv.Atoi(strings.TrimSpace(after))
				if err != nil || tasks < 30 || tasks > most || got.err != nil {
					t.Errorf("got %q, %+v, %v", got.output, got.ending, got.err)
				}
				if left := marked(t, "MARK="+p.dir); len(left) != 0 {
					t.Errorf("alive: %v", left)
				}
				spec.Limits.Pids = 0
				if fine := bash(t, inside(t, spec, level), `python3 -c 'import os,time; [os.fork() or os._exit(time.sleep(0.2) or 0) for _ in range(100)]; print("fine")'`); fine.output != "fine\n" {
					t.Errorf("without a limit: %q, %v", fine.output, fine.err)
				}
			})
		}
	}
}

// If memory runs out, the OOM killer prefers commands to all other processes.
func TestOOMKillerPrefersCommands(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			got := bash(t, inside(t, newFixture(t).spec(), level), `cat /proc/self/oom_score_adj`)
			if got.err != nil || got.output != "900\n" {
				t.Errorf("got %q, %v", got.output, got.err)
			}
		})
	}
}

// A fork bomb leaves no processes. It may prevent its
// supervisor from starting threads, which is reported as an error.
func TestAForkBombEnds(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			spec := p.spec()
			spec.Limits.Pids = 100
			s := inside(t, spec, level)
			if !limitsForks(s) {
				t.Skip("only a control group limits root's processes here")
			}
			marker := "MILLHAND_MARK=" + p.dir
			got := bash(t, s, `mkfifo p; exec 5<>p; bomb() { bomb | bomb & }; bomb 2>/dev/null; read -rt 1 -u 5`, marker)
			if left := marked(t, marker); len(left) != 0 || got.err != nil && !errors.Is(got.err, ErrLost) {
				t.Errorf("%+v, %v: alive: %v", got.ending, got.err, left)
			}
		})
	}
}

func TestEnvironmentIsThatOfTheJob(t *testing.T) {
	p := newFixture(t)
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, p.spec(), level)
			got := bash(t, s, `env | grep -E '^(HOME|TMPDIR|GITHUB|A)' | sort`, "HOME=/root", "A=1", "GITHUB_ENV=/x", "GITHUB_OUTPUT=/x", "GITHUB_STEP_SUMMARY=/x", "GITHUB_PATH=/x", "GITHUB_SHA=1")
			want := "A=1\nGITHUB_SHA=1\nHOME=" + p.home + "\nTMPDIR=" + p.tmp + "\n"
			if got.output != want {
				t.Errorf("got %q, want %q", got.output, want)
			}
		})
	}
}

// Root drops its privileges in a workspace that another user owns.
func TestRootWorksAsTheOwnerOfTheWorkspace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			if err := os.WriteFile(filepath.Join(p.workspace, "f"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{p.workspace, filepath.Join(p.workspace, "f")} {
				if err := os.Chown(f, 4242, 4243); err != nil {
					t.Fatal(err)
				}
			}
			got := bash(t, inside(t, p.spec(), level), `id -u; id -g; id -G; echo x >f && echo x >~/h && mktemp >/dev/null && stat -c %u f /etc/passwd; cat /etc/shadow 2>/dev/null`)
			if want := "4242\n4243\n4243\n4242\n0\n"; got.output != want || got.err != nil {
				t.Errorf("got %q, %v; want %q", got.output, got.err, want)
			}
		})
	}
}

// The path of a symlink is accessible under its own name, too.
func TestSymlinksToGrantedPaths(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			symlink := filepath.Join(p.dir, "link")
			if err := os.Symlink(p.workspace, symlink); err != nil {
				t.Fatal(err)
			}
			spec := p.spec()
			spec.Workspace = symlink
			got := bash(t, inside(t, spec, level), `cd "$LINK" && echo x >f && cat "$REAL/f"`, "LINK="+symlink, "REAL="+p.workspace)
			if got.output != "x\n" {
				t.Errorf("got %q, %v", got.output, got.err)
			}
		})
	}
}

// A symlink that replaced a granted path is not followed.
func TestGrantedPathReplacedBySymlinkIsRefused(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			protected := filepath.Join(p.workspace, "sub", "protected")
			if err := os.MkdirAll(protected, 0o755); err != nil {
				t.Fatal(err)
			}
			spec := p.spec()
			spec.Grants = []Grant{NewGrant(protected, false)}
			s := inside(t, spec, level)
			if err := os.RemoveAll(filepath.Dir(protected)); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(p.outside, "protected"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(p.outside, filepath.Dir(protected)); err != nil {
				t.Fatal(err)
			}
			if got := bash(t, s, "true"); got.err == nil {
				t.Errorf("the command ran: %+v", got)
			}
		})
	}
}
