//go:build linux

package sandbox

import "path/filepath"

// liveSockets returns the variables of attacks with the sockets of a process outside, in
// directories that a command can access.
func (s surroundings) liveSockets() map[string]struct{ network, path string } {
	return map[string]struct{ network, path string }{
		"LIVE":     {"unix", filepath.Join(s.workspace, "live")},
		"LIVESEQ":  {"unixpacket", filepath.Join(s.workspace, "seq")},
		"LIVEGRAM": {"unixgram", filepath.Join(s.workspace, "gram")},
		"LIVEREAD": {"unix", filepath.Join(readonly(s.fixture), "live")},
	}
}

// readLive is Python that reads from the connected socket s.
const readLive = `
print(s.recv(9))`

// onUnixSockets are attacks that reach a process outside over a socket in a directory
// that the command can access.
func onUnixSockets() []attack {
	connect := func(before, path string) string {
		return py(before + `s=socket.socket(socket.AF_UNIX); s.connect(` + path + `)` + readLive)
	}
	return []attack{
		{name: "connect", line: connect("", `os.environ["LIVE"]`)},
		{name: "connect by a relative path", line: connect(`os.mkdir("d"); os.chdir("d"); `, `"../live"`)},
		{name: "connect in a directory that can only be read", line: connect("", `os.environ["LIVEREAD"]`)},
		{name: "connect through a symlink", line: `ln -s live l; ` + connect("", `"l"`)},
		{name: "connect through a directory descriptor", line: connect(`d=os.open(".",os.O_PATH); `, `"/proc/self/fd/%d/live"%d`)},
		{name: "connect through a descriptor of the socket file", line: connect(`d=os.open("live",os.O_PATH); `, `"/proc/self/fd/%d"%d`)},
		{name: "connect through the working directory in /proc", line: connect("", `"/proc/thread-self/cwd/live"`)},
		{name: "connect after a rename", line: `mv live l && ` + connect("", `"l"`)},
		{name: "connect to a hard link", line: `ln live l && ` + connect("", `"l"`)},
		{name: "connect without blocking", line: py(`s=socket.socket(socket.AF_UNIX); s.setblocking(False); s.connect("live"); s.setblocking(True)` + readLive)},
		{name: "connect a packet socket", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.connect("seq")` + readLive)},
		{name: "connect instead of to a socket of one's own", line: connect(`o=socket.socket(socket.AF_UNIX); o.bind("own"); o.listen(); os.rename("live","own"); `, `"own"`)},
		{
			name:    "connect to an inode number of a socket of one's own",
			shipped: `(until test -e go; do sleep 0.02; done; python3 -c 'import socket; l=socket.socket(socket.AF_UNIX); l.bind("next"); l.listen(); l.settimeout(20); open("there","w"); l.accept()[0].send(b"gotcha")') >/dev/null 2>&1 &`,
			line: connect(`o=socket.socket(socket.AF_UNIX); o.bind("own"); o.listen(); os.unlink("own"); o.close(); open("go","w")
while not os.path.exists("there"): time.sleep(0.01)
`, `"next"`),
		},
		{name: "change the address while connect runs", line: py(swapping + `
a=ctypes.create_string_buffer(struct.pack("H108s",1,b"own"),110)
def swap():
  while not done:
    for name in (b"live",b"own\0"): ctypes.memmove(ctypes.addressof(a)+2,name,4)
` + raceConnect(`C.connect(s.fileno(),a,110)==0`))},
		{name: "change a symlink while connect runs", line: py(swapping + `
os.symlink("own","l")
def swap():
  while not done:
    for name in ("live","own"): os.symlink(name,"n"); os.rename("n","l")
` + raceConnect(`s.connect_ex("l")==0`))},
		{name: "send a datagram", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b"x","gram")`), effect: "hits"},
		{name: "connect a datagram socket", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.connect("gram"); s.send(b"x")`), effect: "hits"},
		{name: "send a datagram as a message", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendmsg([b"x"],[],0,"gram")`), effect: "hits"},
		{name: "send several datagrams", needs: onX86, line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); a=ctypes.create_string_buffer(struct.pack("H108s",1,b"gram")); b=buf(1); v=ctypes.create_string_buffer(struct.pack("PP",ctypes.addressof(b),1))
sys_(307,s.fileno(),struct.pack("PIxxxxPPPPIxxxxI",ctypes.addressof(a),110,ctypes.addressof(v),1,0,0,0,0),1,0)`), effect: "hits"},
		{name: "send a datagram over a raw socket", line: py(`s=socket.socket(socket.AF_UNIX,socket.SOCK_RAW); s.sendto(b"x","gram")`), effect: "hits"},
		{name: "send a datagram over a pair", line: py(`s,_=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b"x","gram")`), effect: "hits"},
	}
}

// swapping is the start of Python that connects while a thread swaps what it names.
const swapping = `import threading; sys.setswitchinterval(1e-5)
o=socket.socket(socket.AF_UNIX); o.bind("own"); o.listen(); o.setblocking(False); done=False`

// raceConnect is the end: it connects for two seconds.
func raceConnect(connects string) string {
	return `
threading.Thread(target=swap).start()
end=time.time()+2
while time.time()<end:
  s=socket.socket(socket.AF_UNIX)
  try:
    if ` + connects + ` and struct.unpack("iii",s.getsockopt(1,17,12))[0]!=os.getpid(): print(s.recv(9)); break
    o.accept()
  except OSError: pass
done=True`
}
