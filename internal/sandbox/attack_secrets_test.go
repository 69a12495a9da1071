//go:build linux

package sandbox

// secretive are attacks on what processes and the user keep to themselves.
func secretive() []attack {
	return []attack{
		{name: "the environment of a process", line: `tr '\0' '\n' <"/proc/$VICTIM/environ"`},
		{name: "the environments that ps shows", needs: `command -v ps`, line: `ps axeww | grep -a "CANARY=[g]otcha"`}, // arguments of other attacks have the mark, too
		{name: "the environment of its parent", line: `cat /proc/$PPID/environ >/dev/null && echo gotcha`},
		{name: "the environments of all processes", line: `for e in /proc/[0-9]*/environ; do grep -a CANARY=g $e; done 2>/dev/null`},
		{name: "the memory of a process by its file", line: py(`open("/proc/%d/mem"%V,"rb"); print("gotcha")`)},
		{name: "the memory of a process by system call", needs: onX86, line: py(`m=open("/proc/%d/maps"%V).readline() if os.path.exists("/proc/%d/maps"%V) else "0-0"
b=buf(8); x=struct.pack("PP",ctypes.addressof(b),8); y=struct.pack("PP",int(m.split("-")[0],16),8); won(sys_(310,V,x,L(1),y,L(1),L(0)))`)},
		{name: "the memory of a process of the command's own", needs: onX86, line: py(`b=ctypes.create_string_buffer(b"gotcha"); c=buf(7)
x=struct.pack("PP",ctypes.addressof(b),6); y=struct.pack("PP",ctypes.addressof(c),6); sys_(310,os.getpid(),y,L(1),x,L(1),L(0)); print(c.value.decode())`)},
		{name: "where the memory of a process lies", line: `head -1 /proc/$VICTIM/maps | grep -q . && echo gotcha`},
		{name: "the files of a process", line: `ls -l "/proc/$VICTIM/fd/" && echo gotcha`},
		{name: "the arguments of a process", line: `tr '\0' ' ' <"/proc/$VICTIM/cmdline" | sed 's/sleep 1000/gotcha/'`, held: gap},
		{name: "what a process waits for", line: `cat /proc/$VICTIM/syscall >/dev/null && echo gotcha`},
		{name: "the program of a process", line: `readlink /proc/$VICTIM/exe | sed s/sleep/gotcha/`},
		{name: "how much a process reads and writes", line: `cat /proc/$VICTIM/io >/dev/null && echo gotcha`},
		{name: "the connections of the machine", line: `grep -q ":$(printf %04X $TCP) " /proc/net/tcp && echo gotcha`, held: gap},
		{name: "the sockets of the machine", line: `grep -q "$OUT/s" /proc/net/unix && echo gotcha`, held: gap},
		{
			name: "memory shared by system call", needs: onX86, shipped: py(`k=K; i=sys_(29,k,4096,0o1600); C.shmat.restype=ctypes.c_void_p; a=C.shmat(i,None,0); ctypes.memmove(a,b"gotcha",6)`), clear: `ipcrm -M $KEY`,
			line: py(`k=K; i=sys_(29,k,4096,0); C.shmat.restype=ctypes.c_void_p; a=C.shmat(i,None,0); print(ctypes.string_at(a,6) if i>=0 and a<2**64-1 else "no")`),
		},
		{
			name: "messages queued by system call", needs: onX86, shipped: py(`k=K; i=sys_(68,k,0o1600); sys_(69,i,ctypes.create_string_buffer(struct.pack("q",1)+b"gotcha"),L(6),0)`), clear: `ipcrm -Q $KEY`,
			line: py(`k=K; i=sys_(68,k,0); b=buf(30); sys_(70,i,b,L(6),L(0),0o4000); print(b.raw[8:14])`),
		},
		{
			name: "messages in a queue with a name", needs: onX86 + " && " + py(`sys_(240,b"millhand",os.O_CREAT|os.O_RDWR,0o600,0)>=0 or 1/0; sys_(241,b"millhand")`),
			shipped: py(`q=sys_(240,os.path.basename(O[:-8]).encode(),os.O_CREAT|os.O_RDWR,0o600,0); sys_(242,q,b"gotcha",L(6),0,0)`), clear: py(`sys_(241,os.path.basename(O[:-8]).encode())`),
			line: py(`q=sys_(240,os.path.basename(O[:-8]).encode(),os.O_RDWR,0,0); b=buf(9000); sys_(243,q,b,L(9000),0,0) if q>=0 else 0; print(b.value)`),
		},
		{name: "a counter shared by system call", needs: onX86, shipped: py(`sys_(64,K,1,0o1600)`), clear: `ipcrm -S $KEY`, line: py(`won(sys_(64,K,1,0))`)},
		{name: "keys of the kernel", needs: onX86 + " && " + py(`sys_(248,b"user",b"k",b"v",L(1),-3)>=0 or 1/0`), line: py(`won(sys_(248,b"user",b"k",b"v",L(1),-3))`)},
		{name: "keys by their name", needs: onX86 + " && " + py(`sys_(248,b"user",b"k",b"v",L(1),-3)>=0 or 1/0`), shipped: py(`sys_(248,b"user",b"millhand",b"v",L(1),-4)`), line: py(`won(sys_(249,b"user",b"millhand",0,0))`)},
		{name: "the ring of keys of the user", needs: onX86 + " && " + py(`sys_(250,0,-4,1)>=0 or 1/0`), line: py(`won(sys_(250,0,-4,0))`)},
		{name: "the login of a host in the home directory", shipped: `echo gotcha >"$HOME/.netrc"`, line: `cat "$OUT/realhome/.netrc"`},
		{name: "keys for ssh in the home directory, by its name in the list of users", needs: asRoot, shipped: `mkdir -p ~root/.ssh; echo gotcha >~root/.ssh/$NAME`, clear: `rm ~root/.ssh/$NAME`, line: `cat ~root/.ssh/$NAME`},
		{name: "what git's helper for credentials keeps", shipped: `git config --global credential.helper store; echo https://a:gotcha@example.com >"$HOME/.git-credentials"`, line: `printf 'protocol=https\nhost=example.com\n\n' | GIT_TERMINAL_PROMPT=0 git credential fill`},
		{name: "an agent for keys", shipped: `ln -s "$UNIX" "$HOME/agent"`, line: py(`s=socket.socket(socket.AF_UNIX); s.connect(O+"/realhome/agent"); print(s.recv(9))`)},
		{name: "the core of a process that crashes", line: `ulimit -c unlimited 2>/dev/null && echo gotcha`},
		{name: "capabilities by executing something", needs: asRoot, line: `grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo gotcha`},
		{name: "new privileges by executing something", line: `grep -q '^NoNewPrivs:.*0' /proc/self/status && echo gotcha`},
	}
}

// onProcesses are attacks on other processes.
func onProcesses() []attack {
	// killed succeeds when the victim has ended, for which it gets a moment.
	const killed = `for i in $(seq 20); do grep -q "State:	[SR]" /proc/$VICTIM/status || break; sleep 0.02; done; ! grep -q "State:	[SR]" /proc/$VICTIM/status`
	return []attack{
		{name: "kill", line: `kill -9 $VICTIM`, effect: killed},
		{name: "kill its group", line: `kill -9 -- -$VICTIM`, effect: killed},
		{name: "kill one thread", needs: onX86, line: py(`sys_(234,V,V,9)`), effect: killed},
		{name: "queue a signal", needs: onX86, line: py(`sys_(129,V,10,struct.pack("iiiiii",10,0,-1,0,os.getpid(),os.getuid())+bytes(104))`), effect: killed},
		{name: "kill by a descriptor", line: py(`f=os.pidfd_open(V); import signal; signal.pidfd_send_signal(f,9)`), effect: killed},
		{name: "signal as the owner of a socket", line: py(`a,b=socket.socketpair(); fcntl.fcntl(a,8,V); fcntl.fcntl(a,10,12); fcntl.fcntl(a,4,os.O_ASYNC|os.O_NONBLOCK); b.send(b"x")`), effect: killed},
		{name: "stop", line: `kill -STOP $VICTIM`, effect: `for i in $(seq 20); do grep -q "State:	T" /proc/$VICTIM/status && break; sleep 0.02; done; grep -q "State:	T" /proc/$VICTIM/status`},
		{name: "limit", line: `prlimit --pid $VICTIM --nofile=64`, effect: `grep -q "Max open files  *64 " /proc/$VICTIM/limits`},
		{name: "read its limits", needs: onX86, line: py(`won(sys_(302,V,7,0,buf(16)))`)},
		{name: "make it the first to be killed for memory", line: `echo 900 >/proc/$VICTIM/oom_score_adj`, effect: `grep -q 900 /proc/$VICTIM/oom_score_adj`},
		{name: "lower its priority", line: `renice 19 $VICTIM`, effect: `test "$(cut -d' ' -f19 /proc/$VICTIM/stat)" = 19`, held: usersGap},
		{name: "keep it to one processor", needs: `test "$(nproc)" -gt 1`, line: `taskset -pc 0 $VICTIM`, effect: `grep -q '^Cpus_allowed_list:.0$' /proc/$VICTIM/status`, held: usersGap},
		{name: "schedule it when nothing else runs", line: `chrt -i -p 0 $VICTIM`, effect: `chrt -p $VICTIM | grep -q IDLE`, held: usersGap},
		{name: "lower its priority at the disk", line: `ionice -c 3 -p $VICTIM`, effect: `ionice -p $VICTIM | grep -q idle`, held: usersGap},
		{name: "write into its memory", line: py(`open("/proc/%d/mem"%V,"wb"); print("gotcha")`)},
		{name: "write into the memory of its parent", line: py(`open("/proc/%d/mem"%os.getppid(),"wb"); print("gotcha")`) + `; :`},
		{name: "trace it", needs: onX86 + " && " + asRoot, line: py(`won(sys_(101,0x4206,V,0,0))`)},
		{name: "trace a process of the command's own", needs: onX86, line: py(`p=os.fork()
if p==0: time.sleep(5)
won(sys_(101,16,p,0,0)); os.kill(p,9)`)},
		{name: "compare what it has open", needs: onX86, line: py(`won(sys_(312,V,V,2,3,3))`)},
		{name: "advise about its memory", needs: onX86 + " && " + asRoot, line: py(`b=buf(4096); x=struct.pack("PP",(ctypes.addressof(b)+4095)//4096*4096,0); won(sys_(440,os.pidfd_open(V),x,L(1),20,0))`)},
		{name: "move its memory", needs: onX86, line: py(`won(sys_(279,V,L(0),0,0,0,0))`)},
		{name: "type into a terminal", needs: py(`m,s=os.openpty(); fcntl.ioctl(s,0x5412,b"x")`), line: py(`m,s=os.openpty(); fcntl.ioctl(s,0x5412,b"x"); print("gotcha")`)},
		{name: "enter its namespace", needs: `nsenter -t $VICTIM -u true`, line: `nsenter -t $VICTIM -u true && echo gotcha`},
	}
}
