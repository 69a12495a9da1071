//go:build linux

package sandbox

// onNetworks are attacks that reach somebody else.
func onNetworks() []attack {
	return []attack{
		{name: "TCP", line: `exec 3<>/dev/tcp/127.0.0.1/$TCP; cat <&3`},
		{name: "TCP on IPv6", line: py(`s=socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1",int(os.environ["TCP"]))); print(s.recv(9))`)},
		{name: "TCP by a ring of requests", needs: onX86, line: py(`print("gotcha" if sys_(425,8,buf(120))>=0 else "no")`)},
		{name: "data that opens a connection", needs: `test $(($(cat /proc/sys/net/ipv4/tcp_fastopen) & 1)) = 1`, line: py(`s=socket.socket(); s.sendto(b"x",0x20000000,("127.0.0.1",int(os.environ["TCP"]))); print(s.recv(9))`)},
		{name: "TCP over several paths", needs: py(`socket.socket(socket.AF_INET,socket.SOCK_STREAM,262)`), line: py(`s=socket.socket(socket.AF_INET,socket.SOCK_STREAM,262); s.connect(("127.0.0.1",int(os.environ["TCP"]))); print(s.recv(9))`)},
		{name: "UDP", line: py(`s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b"x",("127.0.0.1",int(os.environ["UDP"])))`), effect: "hits"},
		{name: "UDP, several at once", needs: onX86, line: py(`s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); a=ctypes.create_string_buffer(struct.pack("=H",2)+struct.pack("!H",int(os.environ["UDP"]))+b"\x7f\0\0\1"+bytes(8)); b=buf(1); v=ctypes.create_string_buffer(struct.pack("PP",ctypes.addressof(b),1))
sys_(307,s.fileno(),struct.pack("PIxxxxPPPPIxxxxI",ctypes.addressof(a),16,ctypes.addressof(v),1,0,0,0,0),1,0)`), effect: "hits"},
		{name: "a socket in the file system", line: py(`s=socket.socket(socket.AF_UNIX); s.connect(os.environ["UNIX"]); print(s.recv(9))`)},
		{name: "a socket in the file system through a symlink", line: `ln -s "$UNIX" l; ` + py(`s=socket.socket(socket.AF_UNIX); s.connect("l"); print(s.recv(9))`)},
		{name: "a datagram to a socket in the file system", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b"x",os.environ["UNIXGRAM"])`), effect: "hits"},
		{name: "a datagram over a pair of sockets", line: py(`s,_=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendmsg([b"x"],[],0,os.environ["UNIXGRAM"])`), effect: "hits"},
		{name: "an abstract socket", line: py(`s=socket.socket(socket.AF_UNIX); s.connect("\0"+os.environ["ABSTRACT"][1:]); print(s.recv(9))`)},
		{
			name: "a server that the machine can reach",
			// Somebody outside connects once the port is known, and reports when that has ended.
			shipped: `(until test -e port; do sleep 0.02; done; cat </dev/tcp/127.0.0.1/$(cat port); touch tried) >/dev/null 2>&1 &`,
			line: py(`s=socket.create_server(("127.0.0.1",0)); open("p","w").write(str(s.getsockname()[1])); os.rename("p","port"); s.settimeout(0.05)
while not os.path.exists("tried"):
  try: s.accept(); print("gotcha"); break
  except TimeoutError: pass`),
		},
		{name: "the virtual machine's host", needs: py(`socket.socket(40,socket.SOCK_STREAM)`), line: py(`socket.socket(40,socket.SOCK_STREAM); print("gotcha")`)},
		{name: "the kernel's cryptography", needs: py(`socket.socket(38,socket.SOCK_SEQPACKET)`), line: py(`socket.socket(38,socket.SOCK_SEQPACKET); print("gotcha")`)},
		{name: "raw packets", needs: asRoot, line: py(`socket.socket(socket.AF_PACKET,socket.SOCK_RAW); print("gotcha")`)},
		{name: "raw messages of IP", needs: asRoot, line: py(`socket.socket(socket.AF_INET,socket.SOCK_RAW,1); print("gotcha")`)},
		{name: "pings", needs: py(`socket.socket(socket.AF_INET,socket.SOCK_DGRAM,1)`), line: py(`s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM,1); s.settimeout(1); s.sendto(struct.pack("!BBHHH",8,0,0,1,1),("127.0.0.1",0)); s.recv(99); print("gotcha")`) + ` && ` + py(`socket.create_connection(("127.0.0.1",int(os.environ["TCP"])))`)},
		{name: "events of the kernel's devices", line: py(`s=socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,15); s.bind((0,1)); print("gotcha")`)},
		{name: "the firewall", needs: asRoot + " && " + py(`socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,12)`), line: py(`socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,12); print("gotcha")`)},
		{name: "what the machine's network looks like", line: py(`s=socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,16); print("gotcha")`)},
	}
}

// forksMany is Python that starts more processes than allowed. They end when the
// first one does, which closes the pipe.
const forksMany = `r,w=os.pipe()
try:
  for i in range(400):
    if os.fork()==0: os.close(w); os.read(r,1); os._exit(0)
  print("gotcha")
except BlockingIOError: print("no more")`

// exhausting are attacks that outlive their time or use up what others need.
// What a command has left alive holds a lock.
func exhausting() []attack {
	const alive = `! flock -n held true`
	few := Limits{Pids: 60}
	return []attack{
		{name: "a process in the background", line: `(flock 9; sleep 30) 9>held >/dev/null 2>&1 & until ! flock -n held true; do sleep 0.01; done`, effect: alive},
		{name: "a process in a session of its own", line: `setsid sh -c 'flock 9; sleep 30' 9>held >/dev/null 2>&1 & until ! flock -n held true; do sleep 0.01; done`, effect: alive},
		{name: "a process that lost its parents", line: `(setsid sh -c '(setsid sh -c "flock 9; sleep 30" &)' 9>held >/dev/null 2>&1); until ! flock -n held true; do sleep 0.01; done`, effect: alive},
		{name: "a process that adopts its children", line: py(`C.prctl(36,1)
if os.fork()==0:
  os.setsid(); f=open("h","w"); fcntl.flock(f,2); os.rename("h","held"); os.set_inheritable(f.fileno(),True); os.closerange(0,3); os.fork(); time.sleep(30)
while not os.path.exists("held"): pass
time.sleep(0.1)`), effect: alive},
		{name: "a process that stopped itself", line: `sh -c 'exec 9>held; flock 9; kill -STOP $$' >/dev/null 2>&1 & until ! flock -n held true; do sleep 0.01; done`, effect: alive},
		{name: "a process under another name", line: py(`if os.fork()==0:
  os.setsid(); f=open("h","w"); fcntl.flock(f,2); os.rename("h","held"); os.closerange(0,3); open("/proc/self/comm","w").write(") R 1 1"); C.prctl(15,b") R 1 1 (",0,0,0); time.sleep(30)
while not os.path.exists("held"): pass
time.sleep(0.1)`), effect: alive},
		{name: "a thread that goes on without the first one", line: py(`import threading
if os.fork()==0:
  os.setsid(); f=open("h","w"); fcntl.flock(f,2); os.rename("h","held"); os.closerange(0,3)
  threading.Thread(target=lambda: time.sleep(30)).start(); sys_(60,0)
while not os.path.exists("held"): pass
time.sleep(0.1)`), needs: onX86, effect: alive},
		{name: "a child when time is up", ended: true, line: `(flock 9; touch ready; sleep 30) 9>held; :`, effect: alive},
		{name: "a child that ignores signals when time is up", ended: true, line: `trap '' TERM INT HUP; (flock 9; touch ready; while :; do sleep 1; done) 9>held; :`, effect: alive},
		{name: "a child in another session when time is up", ended: true, line: `setsid -w sh -c 'flock 9; touch ready; sleep 30' 9>held; :`, effect: alive},
		{name: "a child that starts children when time is up", ended: true, line: `sh -c 'flock 9; touch ready; while :; do setsid sleep 0.1 & wait; done' 9>held; :`, effect: alive},
		{name: "a child that is stopped when time is up", ended: true, line: `sh -c 'flock 9; touch ready; kill -STOP $$' 9>held; :`, effect: alive},
		{name: "a child that waits for input when time is up", ended: true, line: `mkfifo p; (flock 9; touch ready; cat p) 9>held; :`, effect: alive},
		{name: "more processes than allowed", limits: few, held: rootsGap, line: py(forksMany)},
		{name: "more threads than allowed", limits: few, held: rootsGap, line: py(`import threading
try:
  for i in range(400): threading.Thread(target=threading.Event().wait,daemon=True).start()
  print("gotcha",flush=True); os._exit(0)
except RuntimeError: pass`)},
		{name: "a higher limit for processes", limits: few, held: rootsGap, line: py(`import resource
hard=resource.getrlimit(resource.RLIMIT_NPROC)[1]
for limit in (hard,-1):
  try: resource.setrlimit(resource.RLIMIT_NPROC,(limit,limit))
  except ValueError: pass
` + forksMany)},
		{name: "a larger heap than allowed", limits: Limits{DataBytes: 1 << 30}, line: py(`C.sbrk.restype=L; won(C.sbrk(L(1<<31)))`)},
		{name: "more mapped memory than allowed", limits: Limits{DataBytes: 1 << 30}, line: py(`import mmap; mmap.mmap(-1,1<<31,mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS); print("gotcha")`)},
		{name: "a higher limit for memory", limits: Limits{DataBytes: 1 << 30}, line: py(`import resource
try: resource.setrlimit(resource.RLIMIT_DATA,(1<<33,1<<33)); print("gotcha")
except ValueError: pass`)},
		{name: "a larger file than allowed", limits: Limits{FileBytes: 1 << 20}, line: `head -c 3000000 /dev/zero >f`, effect: `test "$(stat -c %s f)" = 3000000`},
		{name: "a larger file than allowed, of holes", limits: Limits{FileBytes: 1 << 20}, line: `truncate -s 3000000 f`, effect: `test "$(stat -c %s f)" = 3000000`},
		{name: "a larger file than allowed, set aside", limits: Limits{FileBytes: 1 << 20}, line: `fallocate -l 3000000 f`, effect: `test "$(stat -c %s f)" = 3000000`, needs: `fallocate -l 1 "$OUT/g2"`},
		{name: "a larger file than allowed, copied by the kernel", limits: Limits{FileBytes: 1 << 20}, shipped: `head -c 3000000 /dev/zero >from`, line: py(`a=os.open("from",0); b=os.open("f",os.O_CREAT|os.O_WRONLY)
while os.copy_file_range(a,b,1<<20): pass`), effect: `test "$(stat -c %s f)" = 3000000`},
	}
}

// syscalls are attempts to make system calls that open much of the
// kernel to attacks, or change what confines the command.
func syscalls() []attack {
	// bpf's, perf's and the rings' structures have the same head in all versions.
	return []attack{
		{name: "a user namespace", line: py(`won(sys_(272,0x10000000))`)},
		{name: "a user namespace for a child", line: py(`r=sys_(56,0x10000011,0,0,0,0)
won(r) if r else os._exit(0)`)},
		{name: "a user namespace for a child, by the newer call", line: py(`r=sys_(435,struct.pack("QQQQQQQQ",0x10000000,0,0,0,17,0,0,0),L(64))
won(r) if r else os._exit(0)`)},
		{name: "a mount namespace", needs: asRoot, line: py(`won(sys_(272,0x20000))`)},
		{name: "a process namespace", needs: asRoot, line: py(`won(sys_(272,0x20000000))`)},
		{name: "a network namespace", needs: asRoot, line: py(`won(sys_(272,0x40000000))`)},
		{name: "a time namespace", needs: asRoot, line: py(`won(sys_(272,0x80))`)},
		{name: "a namespace of its own again", needs: asRoot, line: py(`won(sys_(308,os.open("/proc/self/ns/uts",0),0))`)},
		{name: "a mount", needs: asRoot, line: py(`won(sys_(165,b"x",O.encode(),b"tmpfs",0,b""))`), clear: `umount -l "$OUT"`},
		{name: "a mount in a user namespace", line: `unshare -Urm sh -c 'mount -t tmpfs x /mnt && echo gotcha'`, needs: `unshare -Urm mount -t tmpfs x /mnt`},
		{name: "a mount shown again", needs: asRoot, line: py(`os.mkdir("m"); r=sys_(165,O.encode(),b"m",b"",4096,b""); print(open("m/secret").read())`), clear: `umount -l "$WS/m"`},
		{name: "a mount made writable", needs: asRoot, line: py(`d=(O+"/dir").encode() if os.path.exists(O+"/dir") else b"/usr"
if d!=b"/usr": sys_(165,b"x",d,b"tmpfs",1,b"")
won(sys_(165,b"",d,b"",32|4096,b""))`), clear: `umount -l "$OUT/dir"`},
		{name: "a mount taken off", needs: asRoot, shipped: `mount -t tmpfs x "$OUT/dir"`, line: py(`won(sys_(166,(O+"/dir" if os.path.exists(O+"/dir") else "/proc").encode(),2))`), clear: `umount -l "$OUT/dir"`},
		{name: "a mount taken apart", needs: asRoot, line: py(`won(sys_(428,-100,b"/",1))`)},
		{name: "a mount taken apart with attributes", needs: asRoot + " && " + py(`sys_(467,-100,b"/",1,0,0)>=0 or 1/0`), line: py(`won(sys_(467,-100,b"/",1,0,0))`)},
		{name: "the attributes of a mount", needs: asRoot, line: py(`won(sys_(442,-100,b"/",0,buf(32),L(32)))`)},
		{name: "a file system opened", needs: asRoot, line: py(`won(sys_(430,b"tmpfs",0))`)},
		{name: "a root of its own", needs: asRoot, line: py(`os.chroot("."); print("gotcha")`)},
		{name: "a ring of requests", line: py(`won(sys_(425,4,buf(120)))`)},
		{name: "a program in the kernel", needs: asRoot, line: py(`won(sys_(321,0,ctypes.create_string_buffer(struct.pack("IIII",2,4,4,1)+bytes(112)),128))`)},
		{name: "a handler of faults", line: py(`won(sys_(323,1))`)},
		{name: "a counter of performance", needs: asRoot, line: py(`won(sys_(298,ctypes.create_string_buffer(struct.pack("IIQ",1,112,1)+bytes(96)),0,-1,-1,L(0)))`)},
		{name: "a watch over all of a file system", needs: asRoot, line: py(`won(sys_(300,0,0))`)},
		{name: "a table of segments", line: py(`won(sys_(154,0,buf(100),L(100)))`)},
		{name: "the clock, set", needs: asRoot, line: py(`won(sys_(164,0,buf(8)))`)},
		{name: "the adjustment of the clock", needs: asRoot, line: py(`won(sys_(305,0,buf(208)))`)},
		{name: "the name of the machine", needs: asRoot, line: py(`h=socket.gethostname().encode(); won(sys_(170,h,L(len(h))))`)},
		{name: "the domain of the machine", needs: asRoot, line: py(`b=buf(390); sys_(63,b); d=b.raw[325:].split(b"\0")[0]; won(sys_(171,d,L(len(d))))`)},
		{name: "the accounting of processes", needs: asRoot, line: py(`won(sys_(163,0))`)},
		{name: "the terminal, hung up", needs: asRoot, line: py(`os.setsid(); won(sys_(153))`)},
		{name: "a restart", needs: asRoot, line: py(`ctypes.set_errno(0); sys_(169,0,0,0,0); print("gotcha" if ctypes.get_errno()==22 else "no")`)}, // with wrong numbers: it isn't permitted, or it is and they are wrong
		{name: "swapping, switched off", needs: asRoot, line: py(`sys_(168,b"/nonexistent"); print("gotcha" if ctypes.get_errno()==2 else "no")`)},
		{name: "quotas", needs: asRoot, line: py(`sys_(179,0x80000100,b"/dev/nonexistent",0,0); print("gotcha" if ctypes.get_errno()==2 else "no")`)},
		{name: "a system call of the other interface", needs: py(`sys_(0x40000000+39)>0 or 1/0`), line: py(`won(sys_(0x40000000+39))`)},
		{
			name: "a system call as a program of 32 bits makes it", needs: `command -v cc && printf 'int main(){int r;__asm__ volatile("int $0x80":"=a"(r):"a"(20));return r<=0;}' >"$OUT/m.c" && cc -o "$OUT/m" "$OUT/m.c" && "$OUT/m"`,
			shipped: `printf '#include <stdio.h>\nint main(){int r;__asm__ volatile("int $0x80":"=a"(r):"a"(20));if(r>0)puts("gotcha");}' >m.c && cc -o m m.c`, line: `./m`,
		},
		{name: "a confinement that is less", line: py(`m=[l for l in open("/proc/self/status") if l.startswith("Seccomp:")]; print("gotcha" if m==["Seccomp:\t0\n"] else "no")`)},
	}
}
