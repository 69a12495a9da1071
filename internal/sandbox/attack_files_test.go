//go:build linux

package sandbox

// writes are attacks that write outside of the writable paths.
func writes() []attack {
	const madeF, victimHasX = `test -e "$OUT/f"`, `grep -q x "$OUT/victim"`
	const readonlyChanged = `test "$(cat "$RO/file" 2>/dev/null)" != victim`
	return []attack{
		{name: "make a file", line: `echo x >"$OUT/f"`, effect: madeF},
		{name: "append to a file", line: `echo x >>"$OUT/victim"`, effect: victimHasX},
		{name: "write into a file in place", line: `printf x | dd of="$OUT/victim" conv=notrunc status=none`, effect: victimHasX},
		{name: "truncate by opening", line: `: >"$OUT/victim"`, effect: `! test -s "$OUT/victim"`},
		{name: "truncate by system call", line: py(`os.truncate(O+"/victim",0)`), effect: `! test -s "$OUT/victim"`},
		{name: "remove a file", line: `rm -f "$OUT/victim"`, effect: `! test -e "$OUT/victim"`},
		{name: "remove a directory", line: `rmdir "$OUT/dir"`, effect: `! test -e "$OUT/dir"`},
		{name: "move a file out", line: `mv file "$OUT/f"`, effect: madeF},
		{name: "move a file out over another", line: `echo x >n; mv n "$OUT/victim"`, effect: victimHasX},
		{name: "move a directory out", line: `mkdir d && mv d "$OUT/f"`, effect: madeF},
		{name: "move a file in", line: `mv "$OUT/victim" .`, effect: `! test -e "$OUT/victim"`},
		{name: "move a file within a directory outside", line: `mv "$OUT/victim" "$OUT/f"`, effect: madeF},
		{name: "exchange two files", needs: onX86, line: py(`sys_(316,-100,b"file",-100,(O+"/victim").encode(),2)`), effect: `grep -q one "$OUT/victim"`},
		{name: "move the workspace away", line: `mv "$WS" "$OUT/f" && mkdir "$WS"`, effect: madeF},
		{name: "replace the private directory by a symlink", line: `rm -rf "$WS/../tmp"; ln -s "$OUT" "$WS/../tmp"`, effect: `test -L "$WS/../tmp"`},
		{name: "write through a symlink", line: `ln -s "$OUT" l; echo x >l/f`, effect: madeF},
		{name: "write through a dangling symlink", line: `ln -s "$OUT/f" l; echo x >l`, effect: madeF},
		{name: "write through a directory that is continually exchanged for a symlink", needs: onX86, line: py(`os.mkdir("d"); os.symlink(O,"l")
p=os.fork()
while p==0: sys_(316,-100,b"d",-100,b"l",2); time.sleep(0.0001)
for i in range(1500):
  try: open("d/f","w").write("x")
  except OSError: pass
  os.sched_yield()
os.kill(p,9); os.wait()`), effect: madeF},
		{name: "write through a hard link", line: `ln "$OUT/victim" l && echo x >>l`, effect: victimHasX},
		{name: "make a hard link to a file outside", line: `ln file "$OUT/f"`, effect: madeF},
		{name: "write through the root of the own process", line: `echo x >"/proc/self/root$OUT/f"`, effect: madeF},
		{name: "write through the root of another process", line: `echo x >"/proc/$VICTIM/root$OUT/f"`, effect: madeF},
		{name: "write through the directory of the own process", line: `echo x >/proc/self/cwd/../outside/f`, effect: madeF},
		{name: "write through the directory of another process", line: `echo x >/proc/$VICTIM/cwd/f`, effect: madeF},
		{name: "write through a file that another process has open", line: `echo x >>/proc/$VICTIM/fd/3`, effect: victimHasX},
		{name: "take a file from another process", needs: onX86, line: py(`f=os.pidfd_open(V); d=sys_(438,f,3,0); os.write(d,b"x")`), effect: victimHasX},
		{name: "make a directory", line: `mkdir "$OUT/f"`, effect: madeF},
		{name: "make a pipe", line: `mkfifo "$OUT/f"`, effect: madeF},
		{name: "make a socket", line: py(`s=socket.socket(socket.AF_UNIX); s.bind(O+"/f")`), effect: madeF},
		{name: "make a symlink", line: `ln -s x "$OUT/f"`, effect: `test -L "$OUT/f"`},
		{name: "give a name to an unnamed file", needs: onX86, line: py(`f=os.open(O,os.O_TMPFILE|os.O_WRONLY); sys_(265,-100,b"/proc/self/fd/%d"%f,-100,(O+"/f").encode(),0x400)`), effect: madeF},
		{name: "open by openat2", needs: onX86, line: py(`h=struct.pack("QQQ",os.O_CREAT|os.O_WRONLY,0o600,0); sys_(437,-100,(O+"/f").encode(),h,24)`), effect: madeF},
		{name: "open by a handle", needs: onX86 + " && " + asRoot, line: py(`h=ctypes.create_string_buffer(struct.pack("Ii",128,0)+bytes(128)); sys_(303,-100,(O+"/victim").encode(),h,buf(4),0)
os.write(sys_(304,os.open(O,0),h,os.O_WRONLY|os.O_APPEND),b"x")`), effect: victimHasX},
		{name: "open by a ring of requests", needs: onX86, line: py(`print("gotcha" if sys_(425,4,buf(120))>=0 else "no")`)},
		{name: "unpack an archive with absolute names", line: `echo x >"$WS/f"; tar -cPf a.tar --transform "s|.*|$OUT/f|" f && tar -xPf a.tar`, effect: madeF},
		{name: "unpack an archive through its own symlink", line: `ln -s "$OUT" l; echo x >f; tar -cf a.tar l; tar --transform 's|^|l/|' -rf a.tar f; rm l; python3 -c 'import tarfile; t=tarfile.open("a.tar"); t.extraction_filter=lambda m,p: m; t.extractall()'`, effect: madeF},
		{name: "apply a patch with unsafe paths", line: "printf -- '--- /dev/null\n+++ b/../outside/f\n@@ -0,0 +1 @@\n+x\n' | git apply --unsafe-paths", effect: madeF},
		{name: "make a linked work tree outside", line: `git worktree add -q --detach "$OUT/f"`, effect: madeF},
		{name: "write by a process in the background", line: `(sleep 0.1; echo x >"$OUT/f") & wait`, effect: madeF},
		{name: "write into the home directory of the user", needs: asRoot, line: `echo x >~root/.$NAME`, effect: `test -e ~root/.$NAME`, clear: `rm ~root/.$NAME`},
		{name: "write into the directory that all users share", line: `echo x >/var/tmp/$NAME`, effect: `test -e /var/tmp/$NAME`, clear: `rm /var/tmp/$NAME`},
		{name: "write into the memory that all users share", line: `echo x >/dev/shm/$NAME`, effect: `test -e /dev/shm/$NAME`, clear: `rm /dev/shm/$NAME`},

		{name: "write into a file that may be read", line: `echo x >>"$RO/file"`, effect: readonlyChanged},
		{name: "write through a descriptor for reading", line: `exec 3<"$RO/file"; echo x >/proc/self/fd/3`, effect: readonlyChanged},
		{name: "replace a file that may be read", line: `echo x >n; mv -f n "$RO/file"`, effect: readonlyChanged},
		{name: "replace a directory that may be read", line: `mv "$RO" "$RO.was"; mkdir "$RO"; echo x >"$RO/file"`, effect: readonlyChanged},
		{name: "edit a file that may be read through a second name of it", line: `ln "$RO/file" n; echo x >>n`, effect: readonlyChanged},
		{name: "change the root", needs: asRoot, line: py(`os.chroot(O); open("/f","w")`), effect: madeF},
		{name: "change a setting of the machine", needs: asRoot, line: `cat /proc/sys/kernel/core_pattern >/tmp/c; cat /tmp/c >/proc/sys/kernel/core_pattern && echo gotcha`},
		{name: "make a device", needs: asRoot, line: `mknod d c 1 3`, effect: `test -c d`},
	}
}

// metadata are attacks on the metadata of files outside.
func metadata() []attack {
	return []attack{
		{name: "change a mode", line: `chmod 600 "$OUT/victim"`, effect: `test "$(stat -c %a "$OUT/victim")" = 600`, held: gap},
		{name: "change the mode of what may be read", line: `chmod 600 "$RO/file"`, effect: `test "$(stat -c %a "$RO/file")" = 600`, held: gap},
		{name: "change times", line: `touch -d 2001-01-01 "$OUT/victim"`, effect: `test "$(stat -c %Y "$OUT/victim")" -lt 1000000000`, held: gap},
		{name: "change a mode through a handle that can't read", line: py(`os.chmod("/proc/self/fd/%d"%os.open(O+"/victim",os.O_PATH),0o600)`), effect: `test "$(stat -c %a "$OUT/victim")" = 600`, held: gap},
		{name: "set an attribute", needs: py(`os.setxattr(O+"/secret","user.y",b"1")`), line: py(`os.setxattr(O+"/victim","user.x",b"1")`), effect: py(`os.getxattr(O+"/victim","user.x")`) + ` 2>/dev/null`, held: gap},
		{name: "remove an attribute", needs: py(`os.setxattr(O+"/secret","user.y",b"1")`), shipped: py(`os.setxattr(O+"/victim","user.x",b"1")`), line: py(`os.removexattr(O+"/victim","user.x")`), effect: `! ` + py(`os.getxattr(O+"/victim","user.x")`) + ` 2>/dev/null`, held: gap},
		{name: "change the owner", needs: asRoot, line: `chown 4242 "$OUT/victim"`, effect: `test "$(stat -c %u "$OUT/victim")" = 4242`},
		{name: "give capabilities to a program", needs: asRoot, line: py(`os.setxattr(O+"/program","security.capability",struct.pack("<IIIII",0x02000001,1,0,0,0))`), effect: py(`os.getxattr(O+"/program","security.capability")`) + ` 2>/dev/null`},
		{name: "flag a file as immutable", needs: asRoot + ` && chattr +i "$OUT/secret" && chattr -i "$OUT/secret"`, line: `chattr +i "$OUT/victim"`, effect: `lsattr "$OUT/victim" | grep -q -- ----i && chattr -i "$OUT/victim"`},
		{name: "set a mode with the bit of the owner", line: `cp /bin/true s && chmod 4755 s`, effect: `test -u s`},
		{name: "set a mode with the bit of the group", line: `mkdir s && chmod g+s s`, effect: `test -g s`},
		{name: "make a file with the bit of the owner", line: py(`os.open("s",os.O_CREAT|os.O_WRONLY,0o4755)`), effect: `test -u s`},
		{name: "make a pipe with the bit of the owner", line: py(`os.umask(0); os.mknod("s",0o14755)`), effect: `test -u s`},
		{name: "make an unnamed file with the bit of the owner", needs: onX86, line: py(`f=os.open(".",os.O_TMPFILE|os.O_WRONLY,0o4755); sys_(265,-100,b"/proc/self/fd/%d"%f,-100,b"s",0x400)`), effect: `test -u s`},
		{name: "set the bit of the owner by the newest call", needs: onX86, line: py(`open("s","w"); sys_(452,-100,b"s",0o4755,0)`), effect: `test -u s`},
		{name: "set the bit of the owner of an open file", line: py(`os.fchmod(os.open("s",os.O_CREAT|os.O_WRONLY),0o4755)`), effect: `test -u s`},
		{name: "unpack a file with the bit of the owner", shipped: `cp /bin/true s && chmod 4755 s && tar -cf a.tar s && rm s`, line: `tar -xpf a.tar`, effect: `test -u s`},
	}
}

// reads are attacks that read files outside.
func reads() []attack {
	return []attack{
		{name: "read a file", line: `cat "$OUT/secret"`},
		{name: "list a directory", line: `ls "$OUT" | sed s/victim/gotcha/`},
		{name: "read through a symlink", line: `ln -s "$OUT/secret" l; cat l`},
		{name: "read through a symlink that the repository brings", shipped: `ln -s "$OUT/secret" notes.md`, line: `cat notes.md`},
		{name: "read through a hard link", line: `ln "$OUT/secret" l; cat l`},
		{name: "read by way of a directory outside", line: `cd "$OUT"; cat secret`},
		{name: "read through the root of another process", line: `cat "/proc/$VICTIM/root$OUT/secret"`},
		{name: "read through the directory of another process", line: `cat "/proc/$VICTIM/cwd/secret"`},
		{name: "read what another process has open", line: `sed s/victim/gotcha/ <"/proc/$VICTIM/fd/3"`},
		{name: "move a secret in", line: `mv "$OUT/secret" . && cat secret`},
		{name: "run a program", line: `"$OUT/program"`},
		{name: "run a program by the loader", shipped: `cp /bin/echo "$OUT/echo"`, needs: `test -x /lib64/ld-linux-x86-64.so.2`, line: `/lib64/ld-linux-x86-64.so.2 "$OUT/echo" gotcha`},
		{name: "read a script", line: `. "$OUT/program"`},
		{name: "read the target of a symlink", line: `readlink "$OUT/link"`, held: gap},
		{name: "learn whether a file exists, and its size", line: `test "$(stat -c %s "$OUT/secret")" = 7 && echo gotcha`, held: gap},
		{name: "read an attribute", needs: py(`os.setxattr(O+"/secret","user.y",b"1")`), shipped: py(`os.setxattr(O+"/victim","user.x",b"gotcha")`), line: py(`print(os.getxattr(O+"/victim","user.x"))`), held: gap},
		{name: "be told of changes", line: py(`f=C.inotify_init(); won(C.inotify_add_watch(f,(O+"/secret").encode(),0x100))`), held: gap},
		{name: "lock a file against others", line: `flock "$OUT/secret" echo gotcha`},
		{name: "copy a repository", shipped: `git -C "$OUT" init -q r && cd "$OUT/r" && git -c user.name=a -c user.email=b commit -q --allow-empty -m gotcha`, line: `git clone -q "$OUT/r" r && git -C r log`},
		{name: "borrow the objects of a repository", shipped: `git -C "$OUT" init -q r && cd "$OUT/r" && git -c user.name=a -c user.email=b commit -q --allow-empty -m gotcha`, line: `GIT_ALTERNATE_OBJECT_DIRECTORIES="$OUT/r/.git/objects" git log "$(cat "$OUT/r/.git/refs/heads/"*)"`},
		{name: "read what is hidden in the workspace", line: `cat hidden/key`, held: gap},
		{name: "move what is hidden in the workspace", line: `mv hidden shown; cat shown/key`, held: gap},
		{name: "read what only root may", needs: asRoot, line: `grep -q ^root: /etc/shadow && echo gotcha`},
		{name: "read the directory that all users share", shipped: `echo gotcha >/var/tmp/$NAME`, clear: `rm /var/tmp/$NAME`, line: `cat /var/tmp/$NAME`},
		{name: "read the memory that all users share", shipped: `echo gotcha >/dev/shm/$NAME`, clear: `rm /dev/shm/$NAME`, line: `cat /dev/shm/$NAME`},
		{name: "read the messages of the kernel", needs: onX86 + " && " + py(`sys_(103,10,0,0)>0 or 1/0`), line: py(`won(sys_(103,10,0,0)-1)`)},
		{name: "read a disk", needs: asRoot + ` && test -n "$(find /dev -maxdepth 1 -type b | head -1)" && head -c1 "$(find /dev -maxdepth 1 -type b | head -1)" >/dev/null`, line: `head -c1 "$(find /dev -maxdepth 1 -type b | head -1)" >/dev/null && echo gotcha`},
		{name: "read the memory of the machine", needs: asRoot + ` && head -c1 /proc/kcore >/dev/null`, line: `head -c1 /proc/kcore >/dev/null && echo gotcha`},
	}
}
