//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/sandbox/child"
)

func TestLimits(t *testing.T) {
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
except BlockingIOError: print("some" if n>=30 else n)'`, "some\n", Limits{Pids: 60}},
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			for _, tt := range tests {
				spec := newPlace(t).spec()
				spec.Limits = tt.limits
				got := bash(t, inside(t, spec, level), tt.line)
				if got.err != nil || !strings.HasSuffix(got.output, tt.want) {
					t.Errorf("%s: got %q, %+v, %v; want %q", tt.name, got.output, got.ending, got.err, tt.want)
				}
			}
		})
	}
}

// The limit for processes and threads holds, whatever enforces it. The supervisor
// prints a message where it does, and may let a few more start.
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
time.sleep(0.2)
tasks = 0
for p in os.listdir("/proc"):
  try: tasks += p.isdigit() and os.environb[b"MARK"] in open(f"/proc/{p}/environ", "rb").read() and len(os.listdir(f"/proc/{p}/task"))
  except OSError: pass
print("tasks:", tasks)`
	for _, level := range confining() {
		for name, start := range programs {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				p := newPlace(t)
				spec := p.spec()
				spec.Limits.Pids = 60
				s := inside(t, spec, level)
				got := bash(t, s, "python3 -c 'import os,time,threading"+start+count+"'", "MARK="+p.dir)
				_, after, _ := strings.Cut(got.output, "tasks: ")
				tasks, err := strconv.Atoi(strings.TrimSpace(after))
				if err != nil || tasks < 30 || tasks > 120 || got.err != nil {
					t.Errorf("got %q, %+v, %v", got.output, got.ending, got.err)
				}
				if told := strings.Contains(got.output, "limits.processes (60) exceeded"); told != (keeper(s.bounds, level, s.group != nil) == child.Gate) {
					t.Errorf("told that the limit was exceeded: %v, in %q", told, got.output)
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

// If memory runs out, commands go before millhand and everything else.
func TestCommandsAreTheFirstToGo(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			got := bash(t, inside(t, newPlace(t).spec(), level), `cat /proc/self/oom_score_adj`)
			if got.err != nil || got.output != "900\n" {
				t.Errorf("got %q, %v", got.output, got.err)
			}
		})
	}
}

// A command that forks without end leaves nothing. It may starve its
// supervisor of threads, which is reported as such.
func TestAForkBombEnds(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t)
			spec := p.spec()
			spec.Limits.Pids = 100
			s := inside(t, spec, level)
			marker := "MILLHAND_MARK=" + p.dir
			got := bash(t, s, `bomb() { bomb | bomb & }; bomb 2>/dev/null; while ((SECONDS < 2)); do :; done`, marker)
			if left := marked(t, marker); len(left) != 0 || got.err != nil && !errors.Is(got.err, ErrLost) {
				t.Errorf("%+v, %v: alive: %v", got.ending, got.err, left)
			}
		})
	}
}

func TestTheEnvironmentIsTheJobs(t *testing.T) {
	p := newPlace(t)
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

// Root doesn't work as root in a workspace of somebody else's.
func TestRootWorksAsTheOwnerOfTheWorkspace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t)
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

// A path that is a link is found under its own name, too.
func TestLinksToWhatIsGranted(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t)
			link := filepath.Join(p.dir, "link")
			if err := os.Symlink(p.workspace, link); err != nil {
				t.Fatal(err)
			}
			spec := p.spec()
			spec.Workspace = link
			got := bash(t, inside(t, spec, level), `cd "$LINK" && echo x >f && cat "$REAL/f"`, "LINK="+link, "REAL="+p.workspace)
			if got.output != "x\n" {
				t.Errorf("got %q, %v", got.output, got.err)
			}
		})
	}
}

// A link that takes the place of something granted isn't followed.
func TestAGrantThatBecomesALinkIsRefused(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t)
			protected := filepath.Join(p.workspace, "sub", "protected")
			if err := os.MkdirAll(protected, 0o755); err != nil {
				t.Fatal(err)
			}
			spec := p.spec()
			spec.ReadOnly = []string{protected}
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
