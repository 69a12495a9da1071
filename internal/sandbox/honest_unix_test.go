//go:build linux

package sandbox

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// py3 runs Python with the modules for sockets.
func py3(code string) string {
	return `python3 -c 'import os,signal,socket,struct,threading,ctypes
def serve(name,kind=socket.SOCK_STREAM):
  l=socket.socket(socket.AF_UNIX,kind); l.bind(name); l.listen()
  def loop():
    while True: l.accept()[0].send(b"x")
  threading.Thread(daemon=True,target=loop).start(); return l
def ask(name,kind=socket.SOCK_STREAM):
  with socket.socket(socket.AF_UNIX,kind) as s: s.connect(name); return s.recv(1).decode()
` + code + "'"
}

// onPostgres finds the programs of PostgreSQL where Debian has them.
const onPostgres = `for d in /usr/lib/postgresql/*/bin; do PATH=$PATH:$d; done; `

// honestSockets is work with unix sockets that a command creates itself. Level Partial
// refuses all of it.
func honestSockets() []honest {
	list := []honest{
		{name: "names of a socket", line: py3(`serve("s"); os.mkdir("d"); os.symlink("s","l"); os.link("s","h"); d=os.open(".",os.O_PATH); f=os.open("s",os.O_PATH)
print(*[ask(n) for n in ("s","./d/../s","l","h",os.path.abspath("s"),"/proc/self/cwd/s","/proc/thread-self/cwd/s",f"/proc/self/fd/{d}/s",f"/dev/fd/{f}")])
os.rename("s","d/r"); os.chdir("d"); print(ask("r"),ask("../h"))`), want: "x x x x x x x x x\nx x"},
		{name: "packet sockets", line: py3(`serve("s",socket.SOCK_SEQPACKET); print(ask("s",socket.SOCK_SEQPACKET))`), want: "x"},
		{name: "abstract sockets", line: py3(`serve("\0millhand"); print(ask("\0millhand"))`), want: "x"},
		{name: "a socket in /tmp and in the home directory", line: py3(`h=os.environ["HOME"]+"/s"; serve("/tmp/s"); serve(h); print(ask("/tmp/s"),ask(h))`), want: "x x"},
		{name: "a server in another process", line: py3(`
l=socket.socket(socket.AF_UNIX); l.bind("s"); l.listen()
if os.fork()==0: l.accept()[0].send(b"x"); os._exit(0)
l.close(); print(ask("s"))`), want: "x"},
		{
			name: "errors of sockets", line: py3(`
def err(name,kind=socket.SOCK_STREAM):
  try: return ask(name,kind)
  except OSError as e: return type(e).__name__+str(e.errno)
l=serve("s"); d=socket.socket(socket.AF_UNIX); d.bind("dead"); d.listen(); d.close(); open("file","w")
print(err("missing"),err("file/x"),err("file"),err("dead"),err("s",socket.SOCK_SEQPACKET))
s=socket.socket(socket.AF_UNIX); s.connect("s"); print(s.connect_ex("s"),s.getpeername(),os.open("/dev/null",0)>0,socket.socket(socket.AF_INET).connect_ex(("127.0.0.1",1)))`),
			want: "FileNotFoundError2 NotADirectoryError20 ConnectionRefusedError111 ConnectionRefusedError111 OSError91\n106 s True 111",
		},
		{name: "the user of a peer", line: py3(`a=serve("s"); s=socket.socket(socket.AF_UNIX); s.connect("s"); p=struct.unpack("iii",s.getsockopt(1,17,12)); print(p==(os.getpid(),os.getuid(),os.getgid()))
b=socket.socket(socket.AF_UNIX); b.bind("t"); b.listen(); c=socket.socket(socket.AF_UNIX); c.connect("t"); print(struct.unpack("iii",b.accept()[0].getsockopt(1,17,12))[1:]==(os.getuid(),os.getgid()))`), want: "True\nTrue"},
		{name: "connections that wait, and are interrupted", line: py3(`
signal.signal(signal.SIGALRM,lambda *a: None); signal.siginterrupt(signal.SIGALRM,False)
C=ctypes.CDLL(None,use_errno=True); l=socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(1); bad=[]
socket.socket(socket.AF_UNIX).connect("s"); l.accept()
def client():
  for i in range(25):
    s=socket.socket(socket.AF_UNIX)
    if C.connect(s.fileno(),struct.pack("=H",1)+b"s",4): bad.append(ctypes.get_errno())
ts=[threading.Thread(target=client) for i in range(20)]
signal.setitimer(signal.ITIMER_REAL,0.001,0.001)
for t in ts: t.start()
for i in range(500): l.accept()[0].close()
for t in ts: t.join()
signal.setitimer(signal.ITIMER_REAL,0); print(bad)`), want: "[]"},
		{name: "many servers", line: py3(`
for i in range(700):
  l=socket.socket(socket.AF_UNIX); l.bind("s%d"%i); l.listen(); s=socket.socket(socket.AF_UNIX); s.connect("s%d"%i); l.close()
  if i%2: os.unlink("s%d"%i)
serve("t"); print(ask("t"))`), want: "x"},
		{name: "an agent that can't be traced", line: `eval "$(ssh-agent -s -a "$PWD/agent")" >/dev/null && ssh-keygen -qt ed25519 -N '' -f k && ssh-add -q k && ssh-add -l | wc -l`, want: "1", needs: `command -v ssh-agent && command -v ssh-add && command -v ssh-keygen`},
		{name: "an agent that is started when needed", line: `export GNUPGHOME=$PWD/g; mkdir -m 700 g && gpg-connect-agent 'getinfo version' /bye 2>/dev/null | tail -1; gpgconf --kill all`, want: "OK", needs: `command -v gpg-connect-agent && command -v gpg-agent`},
		{name: "a database server", line: onPostgres + `initdb -D db -A trust >/dev/null && pg_ctl -D db -o "-k $PWD -c listen_addresses=" -l log -w start >/dev/null && psql -h "$PWD" -Atc 'select 1+1' postgres; pg_ctl -D db -m fast stop >/dev/null`, want: "2", needs: onPostgres + `test "$(id -u)" != 0 && command -v initdb && command -v psql`},
	}
	for i := range list {
		list[i].gap = true
	}
	return list
}

// Where another process already receives system calls (some container managers do),
// commands have no unix sockets but pairs, and IP sockets.
func TestSocketsWithoutTheSupervisor(t *testing.T) {
	s := inside(t, newFixture(t).spec(), Full)
	got := make(chan outcome)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its filter
		all := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		program := unix.SockFprog{Len: 1, Filter: &all[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Error(err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program))); errno != 0 {
			t.Error(errno)
		}
		got <- bash(t, s, py3(`
try: socket.socket(socket.AF_UNIX)
except PermissionError: print("none")
a,b=socket.socketpair(); a.send(b"x"); print(b.recv(1))
l=socket.create_server(("127.0.0.1",0)); print(socket.create_connection(l.getsockname()).getpeername()==l.getsockname())`))
	}()
	if o := <-got; o.err != nil || o.output != "none\nb'x'\nTrue\n" {
		t.Errorf("%+v", o)
	}
}
