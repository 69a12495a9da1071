package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// attack is something that a command must not be able to do. It is shown to
// work without a sandbox first, so that its failing inside means something.
type attack struct {
	name   string
	line   string // for bash, in the workspace; see surroundings for its variables
	effect string // for bash, run outside afterwards: succeeds if the attack had its effect; "" if the output having "gotcha" is it
	gap    bool   // known to work at level Partial
	needs  string // for bash: the attack is tried only where this succeeds
}

// surroundings is what an attack finds: files outside, a repository, a process
// of the same user, and servers of this machine.
type surroundings struct {
	place
	env  []string
	hits *atomic.Int64 // datagrams that reached a server outside
	over chan struct{} // takes one for each that says so
}

// killed succeeds when the victim has ended, for which it gets a moment.
const killed = `for i in $(seq 20); do grep -q "State:	[SR]" /proc/$VICTIM/status || break; sleep 0.02; done; ! grep -q "State:	[SR]" /proc/$VICTIM/status`

const prepare = `
cd "$OUT" && echo gotcha >secret && echo victim >victim && mkdir dir && chmod 644 secret victim
cd "$WS" && git init -q . && git config user.email a@b && git config user.name a && echo one >file && git add . && git commit -qm one
git worktree add -q "$OUT/tree" && mkdir hidden && echo gotcha >hidden/key
cp .git/config "$OUT/config.before"
`

func surround(t *testing.T) surroundings {
	t.Helper()
	p := newPlace(t)
	s := surroundings{place: p, hits: &atomic.Int64{}, over: make(chan struct{}, 2)}
	victim := exec.Command("sleep", "1000")
	victim.Env = []string{"CANARY=gotcha"}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	s.env = []string{"OUT=" + p.outside, "WS=" + p.workspace, fmt.Sprintf("VICTIM=%d", victim.Process.Pid), "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + p.home}
	for _, network := range []string{"tcp", "udp", "unix", "unixgram", "abstract"} {
		s.env = append(s.env, strings.ToUpper(network)+"="+s.listen(t, network))
	}
	if out := unguarded(t, p.workspace, "set -e\n"+prepare, s.env...); strings.Contains(out, "fatal") {
		t.Fatal(out)
	}
	return s
}

// listen listens on an address outside, and returns it. Datagrams are counted,
// connections get an answer.
func (s *surroundings) listen(t *testing.T, network string) string {
	t.Helper()
	addr := map[string]string{"tcp": "127.0.0.1:0", "udp": "127.0.0.1:0", "unix": filepath.Join(s.outside, "s"), "unixgram": filepath.Join(s.outside, "g"), "abstract": "@" + filepath.Base(s.dir) + t.Name()}[network]
	if network == "udp" || network == "unixgram" {
		conn, err := net.ListenPacket(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		go func() {
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
		}()
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

func (s surroundings) spec() Spec {
	spec := s.place.spec()
	spec.ReadOnly = []string{filepath.Join(s.workspace, ".git")}
	spec.Hidden = []string{filepath.Join(s.workspace, "hidden")}
	return spec
}

// worked reports whether an attack had its effect.
func (s surroundings) worked(t *testing.T, a attack, output string) bool {
	t.Helper()
	if a.effect == "" {
		return strings.Contains(output, "gotcha")
	}
	return strings.HasSuffix(unguarded(t, s.workspace, "if "+a.effect+"; then echo; echo yes; fi", s.env...), "yes\n")
}

// py runs Python with the modules that attacks use.
func py(code string) string {
	return "python3 -c 'import os,sys,ctypes,socket,fcntl,struct,time\nsys_=ctypes.CDLL(None,use_errno=True).syscall\nV=int(os.environ[\"VICTIM\"]);O=os.environ[\"OUT\"]\n" + code + "'"
}

func attacks() []attack {
	return []attack{
		{name: "write", line: `echo x >"$OUT/f"`, effect: `test -e "$OUT/f"`},
		{name: "append", line: `echo x >>"$OUT/victim"`, effect: `grep -q x "$OUT/victim"`},
		{name: "truncate by redirection", line: `: >"$OUT/victim"`, effect: `! test -s "$OUT/victim"`},
		{name: "truncate by system call", line: py(`os.truncate(O+"/victim",0)`), effect: `! test -s "$OUT/victim"`},
		{name: "remove", line: `rm -f "$OUT/victim"`, effect: `! test -e "$OUT/victim"`},
		{name: "remove a folder", line: `rmdir "$OUT/dir"`, effect: `! test -e "$OUT/dir"`},
		{name: "move out", line: `mv file "$OUT/f"`, effect: `test -e "$OUT/f"`},
		{name: "move in", line: `mv "$OUT/victim" .`, effect: `! test -e "$OUT/victim"`},
		{name: "write through a link", line: `ln -s "$OUT" l; echo x >l/f`, effect: `test -e "$OUT/f"`},
		{name: "write through a hard link", line: `ln "$OUT/victim" l && echo x >>l`, effect: `grep -q x "$OUT/victim"`},
		{name: "hard link to outside", line: `ln file "$OUT/f"`, effect: `test -e "$OUT/f"`},
		{name: "write through the root of a process", line: `echo x >"/proc/self/root$OUT/f"`, effect: `test -e "$OUT/f"`},
		{name: "write through the root of another process", line: `echo x >"/proc/$VICTIM/root$OUT/f"`, effect: `test -e "$OUT/f"`},
		{name: "write through a folder of a process", line: `echo x >/proc/self/cwd/../outside/f`, effect: `test -e "$OUT/f"`},
		{name: "make a folder", line: `mkdir "$OUT/f"`, effect: `test -d "$OUT/f"`},
		{name: "make a pipe", line: `mkfifo "$OUT/f"`, effect: `test -p "$OUT/f"`},
		{name: "make a socket", line: py(`s=socket.socket(socket.AF_UNIX); s.bind(O+"/f")`), effect: `test -S "$OUT/f"`},
		{name: "make a link", line: `ln -s x "$OUT/f"`, effect: `test -L "$OUT/f"`},
		{name: "unnamed file that gets a name", line: py(`f=os.open(O,os.O_TMPFILE|os.O_WRONLY); sys_(265,-100,b"/proc/self/fd/%d"%f,-100,(O+"/f").encode(),0x400)`), effect: `test -e "$OUT/f"`, needs: `test "$(uname -m)" = x86_64`},
		{name: "unpack an archive", line: `tar -cf a.tar file && tar -xf a.tar -C "$OUT"`, effect: `test -e "$OUT/file"`},
		{name: "exchange", line: py(`sys_(316,-100,b"file",-100,(O+"/victim").encode(),2)`), effect: `grep -q one "$OUT/victim"`, needs: `test "$(uname -m)" = x86_64`},
		{name: "git in another folder", line: `git -C "$OUT" init -q x`, effect: `test -e "$OUT/x"`},
		{name: "a background process", line: `(sleep 0.1; echo x >"$OUT/f") & wait`, effect: `test -e "$OUT/f"`},
		{name: "home", line: `echo x >~root/.millhand-test-f`, effect: `rm ~root/.millhand-test-f 2>/dev/null`, needs: `test "$(id -u)" = 0`},

		{name: "change a mode", line: `chmod 600 "$OUT/victim"`, effect: `test "$(stat -c %a "$OUT/victim")" = 600`, gap: true},
		{name: "change times", line: `touch -d 2001-01-01 "$OUT/victim"`, effect: `test "$(stat -c %Y "$OUT/victim")" -lt 1000000000`, gap: true},
		{name: "set an attribute", line: py(`os.setxattr(O+"/victim","user.x",b"1")`), effect: py(`os.getxattr(O+"/victim","user.x")`) + ` 2>/dev/null`, gap: true, needs: py(`os.setxattr(O+"/secret","user.y",b"1")`)},
		{name: "change the owner", line: `chown 4242 "$OUT/victim"`, effect: `test "$(stat -c %u "$OUT/victim")" = 4242`, needs: `test "$(id -u)" = 0`},
		{name: "make a set-user-id file", line: `cp /bin/true s && chmod 4755 s`, effect: `test -u s`},
		{name: "open a set-user-id file", line: py(`os.open("s",os.O_CREAT|os.O_WRONLY,0o4755)`), effect: `test -u s`},
		{name: "make a device", line: `mknod d c 1 3`, effect: `test -c d`, needs: `test "$(id -u)" = 0`},
		{name: "change a setting of the machine", line: `cat /proc/sys/kernel/core_pattern >/tmp/c; cat /tmp/c >/proc/sys/kernel/core_pattern && echo gotcha`, needs: `test "$(id -u)" = 0`},

		{name: "read", line: `cat "$OUT/secret"`},
		{name: "read through a link", line: `ln -s "$OUT/secret" l; cat l`},
		{name: "read through a hard link", line: `ln "$OUT/secret" l; cat l`},
		{name: "list", line: `ls "$OUT" | sed s/victim/gotcha/`},
		{name: "read what is hidden in the workspace", line: `cat hidden/key`, gap: true},
		{name: "read what only root may", line: `grep -q ^root: /etc/shadow && echo gotcha`, needs: `test "$(id -u)" = 0`},
		{name: "read the environment of a process", line: `tr '\0' '\n' <"/proc/$VICTIM/environ"`},
		{name: "read the environment of its parent", line: `cat /proc/$PPID/environ >/dev/null && echo gotcha`},
		{name: "write memory of its parent", line: py(`open("/proc/%d/mem"%os.getppid(),"wb"); print("gotcha")`) + `; :`},
		{name: "read a file through the root of a process", line: `cat "/proc/$VICTIM/root$OUT/secret"`},
		{name: "see the arguments of a process", line: `tr '\0' ' ' <"/proc/$VICTIM/cmdline" | sed 's/sleep 1000/gotcha/'`, gap: true},
		{name: "see the files of a process", line: `ls -l "/proc/$VICTIM/fd/" && echo gotcha`},
		{name: "read memory of a process", line: py(`open("/proc/%d/mem"%V,"rb"); print("gotcha")`)},

		{name: "kill", line: `kill -9 $VICTIM`, effect: killed},
		{name: "stop", line: `kill -STOP $VICTIM`, effect: `grep -q "State:	T" /proc/$VICTIM/status`},
		{name: "kill by a descriptor", line: py(`f=os.pidfd_open(V); import signal; signal.pidfd_send_signal(f,9)`), effect: killed},
		{name: "limit another process", line: `prlimit --pid $VICTIM --nofile=64`, effect: `grep -q "Max open files  *64 " /proc/$VICTIM/limits`},
		{name: "trace", line: py(`p=os.fork()
if p==0: time.sleep(5)
print("gotcha" if sys_(101,16,p,0,0)==0 else "no"); os.kill(p,9)`), needs: `test "$(uname -m)" = x86_64`},
		{name: "read memory by system call", line: py(`b=ctypes.create_string_buffer(b"gotcha"); c=ctypes.create_string_buffer(7)
class I(ctypes.Structure): _fields_=[("b",ctypes.c_void_p),("l",ctypes.c_size_t)]
x=I(ctypes.addressof(b),6); y=I(ctypes.addressof(c),6); L=ctypes.c_long; sys_(310,os.getpid(),ctypes.byref(y),L(1),ctypes.byref(x),L(1),L(0)); print(c.value.decode())`), needs: `test "$(uname -m)" = x86_64`},

		{name: "a user namespace", line: `unshare -U true && echo gotcha`},
		{name: "a user namespace by clone", line: py(`print("gotcha" if sys_(56,0x10000011,0,0,0,0)>=0 else "no")`), needs: `test "$(uname -m)" = x86_64`},
		{name: "mount", line: `unshare -Urm mount -t tmpfs x /mnt && echo gotcha`},
		{name: "enter a namespace", line: `nsenter -t $VICTIM -u true && echo gotcha`, needs: `nsenter -t $VICTIM -u true`},
		{name: "change the root", line: py(`os.chroot("."); print("gotcha")`), needs: `test "$(id -u)" = 0`},
		{name: "a ring of requests", line: py(`b=ctypes.create_string_buffer(120); print("gotcha" if sys_(425,4,b)>=0 else "no")`)},
		{name: "a key", line: py(`print("gotcha" if sys_(248,b"user",b"k",b"v",1,-3)>=0 else "no")`), needs: `test "$(uname -m)" = x86_64`},
		{name: "a fault handler", line: py(`print("gotcha" if sys_(323,1)>=0 else "no")`), needs: `test "$(uname -m)" = x86_64`},
		{name: "a performance counter", line: py(`b=ctypes.create_string_buffer(struct.pack("IIQ",1,112,1)+bytes(96)); print("gotcha" if sys_(298,b,0,-1,-1,0)>=0 else "no")`), needs: `test "$(uname -m)" = x86_64 -a "$(id -u)" = 0`},
		{name: "a system call of the other interface", line: py(`print("gotcha" if sys_(0x40000000+39)>0 else "no")`), needs: py(`sys_(0x40000000+39)>0 or 1/0`)},
		{name: "input for a terminal", line: py(`m,s=os.openpty(); fcntl.ioctl(s,0x5412,b"x"); print("gotcha")`), needs: py(`m,s=os.openpty(); fcntl.ioctl(s,0x5412,b"x")`)},

		{name: "TCP", line: `exec 3<>/dev/tcp/127.0.0.1/$TCP; cat <&3`},
		{name: "TCP on IPv6", line: py(`s=socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1",int(os.environ["TCP"]))); print(s.recv(9))`)},
		{name: "UDP", line: py(`s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b"x",("127.0.0.1",int(os.environ["UDP"]))); print("gotcha")`), effect: "hits"},
		{name: "a socket in the file system", line: py(`s=socket.socket(socket.AF_UNIX); s.connect(os.environ["UNIX"]); print(s.recv(9))`)},
		{name: "a datagram to a socket in the file system", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b"x",os.environ["UNIXGRAM"])`), effect: "hits"},
		{name: "a datagram over a pair of sockets", line: py(`s,_=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendmsg([b"x"],[],0,os.environ["UNIXGRAM"])`), effect: "hits"},
		{name: "an abstract socket", line: py(`s=socket.socket(socket.AF_UNIX); s.connect("\0"+os.environ["ABSTRACT"][1:]); print(s.recv(9))`)},
		{name: "a socket of another family", line: py(`socket.socket(40,socket.SOCK_STREAM); print("gotcha")`), needs: py(`socket.socket(40,socket.SOCK_STREAM)`)},
		{name: "a packet socket", line: py(`socket.socket(socket.AF_PACKET,socket.SOCK_RAW); print("gotcha")`), needs: `test "$(id -u)" = 0`},

		{name: "git's configuration", line: `git config core.fsmonitor evil`, effect: `grep -q evil .git/config`, gap: true},
		{name: "a hook", line: `echo evil >.git/hooks/pre-commit`, effect: `test -e .git/hooks/pre-commit`, gap: true},
		{name: "git's folder replaced", line: `mv .git x && mkdir .git && echo evil >.git/config`, effect: `grep -q evil .git/config`, gap: true},
		{name: "git's folder removed", line: `rm -rf .git`, effect: `! test -e .git/config`, gap: true},
	}
}

func TestAttacksFail(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			free := surround(t)
			if a.needs != "" && !strings.HasSuffix(unguarded(t, free.workspace, "if "+a.needs+"; then echo; echo yes; fi", free.env...), "\nyes\n") {
				t.Skip("this machine lacks what it takes")
			}
			if out := unguarded(t, free.workspace, a.line, free.env...); !free.succeeded(t, a, out) {
				t.Fatalf("the attack fails without a sandbox: %s", out)
			}
			for _, level := range []Level{Full, Partial} {
				at := surround(t)
				s := inside(t, at.spec(), level)
				got := bash(t, s, a.line, at.env...)
				if got.err != nil {
					t.Fatal(got.err)
				}
				worked := at.succeeded(t, a, got.output)
				if known := level == Partial && a.gap; worked != known {
					t.Errorf("%s: worked: %t, a known gap: %t; output: %s", level, worked, known, got.output)
				}
			}
		})
	}
}

// succeeded reports whether an attack had its effect, be it on a server.
func (s surroundings) succeeded(t *testing.T, a attack, output string) bool {
	t.Helper()
	if a.effect == "hits" { // what was sent before arrives before
		unguarded(t, s.workspace, py(`socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"over",("127.0.0.1",int(os.environ["UDP"])))
socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM).sendto(b"over",os.environ["UNIXGRAM"])`), s.env...)
		<-s.over
		<-s.over
		return s.hits.Load() > 0
	}
	return s.worked(t, a, output)
}

func TestFilesOfTheParentAreNotInherited(t *testing.T) {
	p := newPlace(t)
	f, err := os.Create(filepath.Join(p.outside, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, p.spec(), level)
			l, err := s.Launch([]string{"bash", "-c", "ls /proc/self/fd | wc -l"}, []string{"PATH=/usr/bin:/bin"}, p.workspace)
			if err != nil {
				t.Fatal(err)
			}
			cmd := &exec.Cmd{Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, SysProcAttr: l.Attr, ExtraFiles: append(l.Files, f)}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := l.Started(); err != nil {
				t.Fatal(err)
			}
			text := make([]byte, 10)
			n, _ := out.Read(text)
			if _, err := finish(t, cmd, l); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(text[:n])); got != "4" { // 0 to 2, and the folder
				t.Errorf("the command has %s files", got)
			}
		})
	}
}
