//go:build linux

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/testing/corpus"
)

// attack is an action that a command must not be able to perform. At night
// the test first shows that it works without a sandbox, so that its failure inside is meaningful; for every
// change it shows that of the first attack of each threat.
type attack struct {
	name    string
	shipped string // for bash, run outside beforehand: what somebody else has put into the workspace
	line    string // for bash, in the workspace; see surroundings for its variables
	ended   bool   // the runner ends the line once it has made the file "ready"
	effect  string // for bash, run outside afterwards: succeeds if the attack had its effect; "" if the output having "gotcha" is it
	clear   string // for bash, run outside at the end: removes what it left elsewhere
	held    held
	needs   string // for bash: the attack is tried only where this succeeds
	limits  Limits
}

// held is the expected result of an attack at level Partial; at Full, none works.
type held string

const (
	always   held = ""              // it fails at Partial, too
	gap      held = "works"         // it is known to work
	usersGap held = "works as user" // it is, if an ordinary user does: root's processes have capabilities that commands lack
	rootsGap held = "works as root" // it works where nothing limits root's processes, see limitsForks
	undone   held = "is taken back" // it is known to work, and a Guard takes back what it did
)

// works reports whether an attack is known to work in a sandbox of a level.
func (h held) works(box *Sandbox, level Level) bool {
	if h == rootsGap {
		return !limitsForks(box)
	}
	return level == Partial && (h == gap || h == usersGap && os.Geteuid() != 0)
}

// threat is a group of attacks with the same goal.
type threat struct {
	name    string
	linked  bool   // the workspace is a linked work tree, as a job's is unless it works in place
	needs   string // as of each of its attacks
	attacks []attack
}

func threats() []threat {
	return []threat{
		{name: "fw", attacks: writes()},
		{name: "fm", attacks: metadata()},
		{name: "rd", attacks: reads()},
		{name: "se", attacks: secretive()},
		{name: "pv", attacks: onPrivateFiles()},
		{name: "pr", attacks: onProcesses()},
		{name: "ne", attacks: onNetworks()},
		{name: "un", attacks: onUnixSockets()},
		{name: "dos", attacks: exhausting()},
		{name: "sys", needs: onX86, attacks: syscalls()},
		{name: "git", attacks: onGit()},
		{name: "gft", linked: true, attacks: onLinkedGit()},
		{name: "hostile", attacks: hostile()},
	}
}

// surroundings is the environment of an attack: files outside, a repository, a process
// of the same user, and servers on this machine.
type surroundings struct {
	fixture
	env     []string
	system  string        // a readable directory, in which private files are hidden
	protect []string      // what is to be readable only
	control []string      // the same, in the form passed to a Guard
	hits    *atomic.Int64 // datagrams that reached a server outside
	over    chan struct{} // receives one for each that reports it
}

// template is a prepared fixture, created once and copied for each attack.
type template struct {
	fixture
	linked bool
}

const prepare = `set -e
mkdir "$OUT/dir" "$RO" "$OUT/realhome" && cd "$OUT" && echo gotcha >secret && echo victim >victim && echo victim >"$RO/file" && chmod 644 secret victim
printf '#!/bin/sh\necho gotcha\n' >program && chmod 755 program && ln -s gotcha link
if test -n "$LINKED"; then mkdir main && cd main; else cd "$WS"; fi
git init -q --template= . && mkdir .git/hooks .git/info && git config user.email a@b && git config user.name a && echo one >file && git add . && git commit -qm one
if test -n "$LINKED"; then git worktree add -q "$WS"; fi
mkdir "$WS/hidden" && echo gotcha >"$WS/hidden/key"`

func newTemplate(t *testing.T, linked bool) template {
	t.Helper()
	p := newFixture(t)
	variable := ""
	if linked {
		variable = "yes"
	}
	if out := unguarded(t, p.dir, prepare, "OUT="+p.outside, "WS="+p.workspace, "RO="+readonly(p), "HOME="+p.home, "GIT_CONFIG_NOSYSTEM=1", "LINKED="+variable); out != "" {
		t.Fatal(out)
	}
	return template{p, linked}
}

// readonly is a directory that commands may read.
func readonly(p fixture) string { return filepath.Join(p.dir, "readonly") }

// pointers are the files that connect a linked worktree with its repository.
func pointers(p fixture) []string {
	return []string{filepath.Join(p.workspace, ".git"), filepath.Join(p.outside, "main/.git/worktrees/work/gitdir")}
}

// surround creates the fixture of an attack, and starts its processes.
func (tp template) surround(t *testing.T) surroundings {
	t.Helper()
	p := newFixture(t)
	for from, to := range map[string]string{tp.workspace: p.workspace, tp.outside: p.outside, readonly(tp.fixture): readonly(p)} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	s := surroundings{fixture: p, system: newSystem(t), hits: &atomic.Int64{}, over: make(chan struct{}, 3)}
	s.protect = []string{filepath.Join(p.workspace, ".git"), readonly(p)}
	s.control = GitControls(".git")
	if tp.linked {
		for _, f := range pointers(p) {
			text, err := os.ReadFile(f)
			if err == nil {
				err = os.WriteFile(f, []byte(strings.ReplaceAll(string(text), tp.dir, p.dir)), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s.protect, s.control = append(s.protect, filepath.Join(p.outside, "main/.git")), []string{".git"}
	}
	victim := s.startVictim(t)
	s.env = []string{
		"OUT=" + p.outside, "SYSTEM=" + s.system, "WS=" + p.workspace, "RO=" + readonly(p), "NAME=millhand-" + filepath.Base(p.dir),
		fmt.Sprintf("VICTIM=%d", victim), fmt.Sprintf("KEY=%d", 1_000_000_000+victim), "HOME=" + filepath.Join(p.outside, "realhome"), "GIT_CONFIG_NOSYSTEM=1", s.mark(),
	}
	for _, network := range []string{"tcp", "udp", "unix", "unixgram", "abstract"} {
		s.env = append(s.env, strings.ToUpper(network)+"="+s.listen(t, network, ""))
	}
	for name, live := range s.liveSockets() {
		s.env = append(s.env, name+"="+s.listen(t, live.network, live.path))
	}
	t.Cleanup(func() { s.killStrays(t) })
	return s
}

// mark is an environment variable of all processes of an attack.
func (s surroundings) mark() string { return "MILLHAND_MARK=" + s.dir }

// killStrays kills processes that an attack left running.
func (s surroundings) killStrays(t *testing.T) {
	t.Helper()
	for _, environ := range marked(t, s.mark()) {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(environ))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
		}
	}
}

// startVictim starts a process of the same user with a secret in its
// environment and an open file.
func (s surroundings) startVictim(t *testing.T) (pid int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.outside, "victim"), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	victim := exec.Command("sleep", "1000")
	victim.Env, victim.Dir, victim.ExtraFiles = []string{"CANARY=gotcha"}, s.outside, []*os.File{f}
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	return victim.Process.Pid
}

// listen listens on an address outside, by default one of the network's, and returns it.
// Datagrams are counted, connections get a response.
func (s *surroundings) listen(t *testing.T, network, addr string) string {
	t.Helper()
	addr = cmp.Or(addr, map[string]string{"tcp": "127.0.0.1:0", "udp": "127.0.0.1:0", "unix": filepath.Join(s.outside, "s"), "unixgram": filepath.Join(s.outside, "g"), "abstract": "@" + filepath.Base(s.dir) + t.Name()}[network])
	if network == "udp" || network == "unixgram" {
		conn, err := net.ListenPacket(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		go s.count(conn)
		return strings.TrimPrefix(conn.LocalAddr().String(), "127.0.0.1:")
	}
	ln, err := net.Listen(strings.Replace(network, "abstract", "unix", 1), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("gotcha"))
			conn.Close()
		}
	}()
	return strings.TrimPrefix(ln.Addr().String(), "127.0.0.1:")
}

// count counts datagrams.
func (s *surroundings) count(conn net.PacketConn) {
	for {
		text := make([]byte, 10)
		n, _, err := conn.ReadFrom(text)
		switch {
		case err != nil:
			return
		case string(text[:n]) == "over":
			s.over <- struct{}{}
		default:
			s.hits.Add(1)
		}
	}
}

func (s surroundings) spec() Spec {
	spec := s.fixture.spec()
	for _, p := range s.protect {
		spec.Grants = append(spec.Grants, NewGrant(p, false))
	}
	spec.Hidden = []string{filepath.Join(s.workspace, "hidden")}
	spec.Programs, spec.Private = []string{s.system}, &Private{roots: []string{"/etc", s.system}}
	return spec
}

// succeeded reports whether an attack had its effect.
func (s surroundings) succeeded(t *testing.T, a attack, output string) bool {
	t.Helper()
	switch a.effect {
	case "":
		return strings.Contains(output, "gotcha")
	case "hits": // what was sent before arrives before
		unguarded(t, s.workspace, py(`socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"over",("127.0.0.1",int(os.environ["UDP"])))
for g in "UNIXGRAM","LIVEGRAM": socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM).sendto(b"over",os.environ[g])`), s.env...)
		<-s.over
		<-s.over
		<-s.over
		return s.hits.Load() > 0
	}
	return s.holds(t, a.effect)
}

// holds reports whether a line of bash succeeds outside.
func (s surroundings) holds(t *testing.T, line string) bool {
	t.Helper()
	return strings.HasSuffix(unguarded(t, s.workspace, "if "+line+"; then echo; echo yes; fi", s.env...), "\nyes\n")
}

// unguardedly runs an attack like a runner without protection, which kills only the
// process that it started.
func (s surroundings) unguardedly(t *testing.T, a attack) string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	cmd := exec.CommandContext(ctx, "bash", "-c", a.line)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.workspace, append([]string{searchPath}, s.env...), &out, &out, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if a.ended {
		waitFor(t, s.ready)
		end()
	}
	cmd.Wait() // failing is a result, too
	return out.String()
}

// confinedly runs an attack like millhand.
func (s surroundings) confinedly(t *testing.T, a attack, box *Sandbox) string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var out bytes.Buffer
	ran := make(chan error, 1)
	go func() {
		_, err := proc.Run(ctx, proc.Command{Args: []string{"bash", "-c", a.line}, Dir: s.workspace, Env: append([]string{searchPath}, s.env...), Output: &out, Confine: box.Confine})
		ran <- err
	}()
	if a.ended {
		waitFor(t, func() bool { return s.ready() || len(ran) > 0 })
		end()
	}
	if err := <-ran; err != nil && !a.ended {
		t.Fatal(err)
	}
	return out.String()
}

func (s surroundings) ready() bool {
	_, err := os.Stat(filepath.Join(s.workspace, "ready"))
	return err == nil
}

// py runs Python with the modules and abbreviations that attacks use, without those of its site, whose
// search uses a third of its CPU time.
func py(code string) string {
	return `python3 -S -c 'import os,sys,ctypes,socket,fcntl,struct,time
L=ctypes.c_long; C=ctypes.CDLL(None,use_errno=True); sys_=C.syscall; V=int(os.environ["VICTIM"]); O=os.environ["OUT"]; K=int(os.environ["KEY"])
def buf(n): return ctypes.create_string_buffer(n)
def won(r):
  if r>=0: print("gotcha")
` + code + "'"
}

// onX86 succeeds on machines with the system call numbers that some attacks
// use.
const onX86 = `test "$(uname -m)" = x86_64`

// asRoot succeeds for root.
const asRoot = `test "$(id -u)" = 0`

func TestAttacksFail(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	settings := sysctls(t, "")
	templates := map[bool]template{false: newTemplate(t, false), true: newTemplate(t, true)}
	t.Run("all", func(t *testing.T) { // the templates outlive the parallel subtests
		for _, group := range threats() {
			for i, a := range group.attacks {
				t.Run(group.name+": "+a.name, func(t *testing.T) {
					if a.limits.Pids == 0 { // others start and end processes meanwhile, which RLIMIT_NPROC counts
						t.Parallel()
					}
					if i == 0 || nightly.On() {
						succeedsUnconfined(t, templates[group.linked], a, group.needs)
					}
					tryAttack(t, templates[group.linked], a, group.needs, sampled(i, a.held != always))
				})
			}
		}
	})
	sameSysctls(t, settings, sysctls(t, ""))
}

// succeedsUnconfined checks that an attack has its effect without a sandbox: of the first attack of each
// threat for every change, of all at night.
func succeedsUnconfined(t *testing.T, tp template, a attack, needs string) {
	t.Helper()
	free := tp.surround(t)
	t.Cleanup(func() { unguarded(t, free.dir, a.clear, free.env...) })
	free.require(t, needs, a.needs)
	unguarded(t, free.workspace, a.shipped, free.env...)
	if out := free.unguardedly(t, a); !free.succeeded(t, a, out) {
		t.Fatalf("the attack fails without a sandbox: %s", out)
	}
	free.killStrays(t)
}

// require skips a test on machines that lack what an attack needs.
func (s surroundings) require(t *testing.T, needs ...string) {
	t.Helper()
	for _, n := range needs {
		if n != "" && !s.holds(t, n) {
			t.Skip("this machine lacks a requirement")
		}
	}
}

// tryAttack checks that an attack has no effect at levels of confinement, except for known gaps.
func tryAttack(t *testing.T, tp template, a attack, needs string, levels []Level) {
	t.Helper()
	for _, level := range levels {
		at := tp.surround(t)
		t.Cleanup(func() { unguarded(t, at.dir, a.clear, at.env...) })
		at.require(t, needs, a.needs)
		unguarded(t, at.workspace, a.shipped, at.env...)
		spec := at.spec()
		spec.Limits = a.limits
		box := inside(t, spec, level)
		g, err := NewGuard(at.workspace, at.control)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		out := at.confinedly(t, a, box)
		if level == Partial && a.held == undone {
			at.takeBack(t, g)
		}
		worked := at.succeeded(t, a, out)
		if known := a.held.works(box, level); worked != known {
			t.Errorf("%s: worked: %t, a known gap: %t; output: %s", level, worked, known, out)
		}
	}
}

// takeBack restores what a command changed without permission, like a job.
func (s surroundings) takeBack(t *testing.T, g *Guard) {
	t.Helper()
	changed, err := g.Changed()
	if err != nil || len(changed) == 0 {
		t.Errorf("the guard noticed %v, %v", changed, err)
	}
	if err := g.Restore(); err != nil {
		t.Error(err)
	}
}

func TestListOfAttacksIsComplete(t *testing.T) {
	for _, group := range threats() {
		var names []string
		for _, a := range group.attacks {
			names = append(names, a.name+map[held]string{gap: corpus.Gap, rootsGap: corpus.Gap, usersGap: corpus.Gap, undone: corpus.Undone}[a.held])
		}
		if slices.Contains(names, "") {
			t.Errorf("an attack of %s has no name", group.name)
		}
		corpus.Check(t, group.name, names)
	}
}
