package workflows

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	notified "os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// userTools are the programs of a machine that install.sh and millhand's first run require.
var userTools = strings.Fields("sh bash git curl tar gzip uname mkdir rmdir rm mv chmod cat dirname sha256sum ls")

// install is a machine of a user: an empty home, few programs, and a server with a release.
type install struct {
	home, bin, base string
	env             []string
}

// newInstall makes a machine with a server of files.
func newInstall(t *testing.T, handler http.Handler) install {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	i := install{home: t.TempDir(), bin: t.TempDir(), base: server.URL}
	for _, name := range userTools {
		i.tool(t, name)
	}
	return i
}

// tool adds a program of this machine.
func (i install) tool(t *testing.T, name string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(program, filepath.Join(i.bin, name)); err != nil {
		t.Fatal(err)
	}
}

// script adds a program, or replaces one.
func (i install) script(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(i.bin, name)
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// command is a program as this user would start it.
func (i install) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*scripts.Patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = i.home
	cmd.Env = append([]string{"HOME=" + i.home, "PATH=" + i.bin, "SHELL=/bin/bash", "TMPDIR=" + os.TempDir()}, i.env...)
	return cmd
}

func (i install) install(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	args = append([]string{scripts.Root(t) + "/install.sh", "--base-url", i.base}, args...)
	cmd := i.command(t, "/bin/sh", args...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// files returns the paths below the home.
func (i install) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(i.home, func(name string, _ os.DirEntry, err error) error {
		if err != nil || name == i.home {
			return err
		}
		rel, err := filepath.Rel(i.home, name)
		names = append(names, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// serving serves files by name.
func serving(files map[string][]byte) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		if data := files[strings.TrimPrefix(r.URL.Path, "/")]; data != nil {
			out.Write(data)
			return
		}
		http.NotFound(out, r)
	}
}

// installed is where install.sh puts the program.
const installed = ".local/bin/millhand"

// firstHour installs a release, and follows README.
func firstHour(t *testing.T, i install, args ...string) {
	t.Helper()
	if code, out := i.install(t, args...); code != 0 || !strings.Contains(out, `export PATH="`+i.home+`/.local/bin:$PATH"`) || !strings.Contains(out, "~/.bashrc") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if diff := cmp.Diff([]string{".local", ".local/bin", installed}, i.files(t)); diff != "" {
		t.Error(diff)
	}
	i.env = append(i.env, "PATH="+filepath.Join(i.home, ".local/bin")+":"+i.bin)
	program := filepath.Join(i.home, installed)
	for _, step := range [][]string{{"doctor"}, {"init", "--demo", "demo"}, {"run", "demo/millhand.yaml"}} {
		if out, err := i.command(t, program, step...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", step, err, out)
		} else if step[0] == "run" && !strings.Contains(string(out), "run passed in") {
			t.Errorf("%s", out)
		}
	}
}

func TestInstallAndQuickstartWithoutGo(t *testing.T) {
	firstHour(t, newInstall(t, serving(release(t))))
}

// TestSnapshotInstallsWithoutGo installs the snapshot of the release that .ci/release has built
// in $MILLHAND_DIST.
func TestSnapshotInstallsWithoutGo(t *testing.T) {
	dist := os.Getenv("MILLHAND_DIST")
	if dist == "" {
		t.Skip("MILLHAND_DIST not set; make nightly-release sets it")
	}
	firstHour(t, newInstall(t, http.FileServer(http.Dir(dist))))
}

// TestSnapshotInstallsInAnEmptyRoot does the same in a file system that has nothing but these programs, their
// libraries and the installer, as a new machine or a container.
func TestSnapshotInstallsInAnEmptyRoot(t *testing.T) {
	dist := os.Getenv("MILLHAND_DIST")
	if dist == "" || os.Geteuid() != 0 {
		t.Skip("MILLHAND_DIST not set, or not root; make nightly-release sets it")
	}
	i := newInstall(t, http.FileServer(http.Dir(dist)))
	root := t.TempDir()
	for _, name := range userTools {
		program, err := filepath.EvalSymlinks(filepath.Join(i.bin, name))
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := exec.CommandContext(t.Context(), "ldd", program).Output()
		if err != nil && name != "sh" {
			t.Skipf("ldd %s: %v", program, err)
		}
		copyInto(t, root, program, "/usr/bin/"+name)
		for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
			copyInto(t, root, library, library)
		}
	}
	copyInto(t, root, scripts.Root(t)+"/install.sh", "/install.sh")
	for _, dir := range []string{"proc", "dev", "tmp", "root", "etc", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash"} {
		if err := os.Symlink("/usr/bin/"+name, filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	const steps = `set -e; cd; sh /install.sh --base-url "$BASE" --dir /usr/bin; hash -r
! command -v go; millhand version; millhand doctor || [ $? = 3 ]; millhand init --demo demo; cd demo; millhand run`
	const inside = `mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/bin BASE="$2" /bin/sh -c "$3"`
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "sh", "-c", inside, "sh", root, i.base, steps)
	copyInto(t, root, "/usr/bin/env", "/usr/bin/env")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "run passed in") {
		t.Errorf("%v\n%s", err, out)
	}
}

// copyInto copies a program or a library into a root directory.
func copyInto(t *testing.T, root, from, to string) {
	t.Helper()
	to = filepath.Join(root, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(read(t, from)), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestInstallChangesNothingIfItFails(t *testing.T) {
	const page = "\n<!DOCTYPE html>\n<html>Please log in</html>\n"
	archive := archiveName()
	for name, test := range map[string]struct {
		change   func(files map[string][]byte, i install)
		programs map[string]string // scripts
		archive  [2]string         // the name and content of its only file
		args     []string
		code     int
		message  string
	}{
		"another checksum":         {change: func(f map[string][]byte, _ install) { f[archive] = append(f[archive], 'x') }, message: "checksum mismatch of " + archive},
		"a truncated archive":      {change: func(f map[string][]byte, _ install) { f[archive] = f[archive][:len(f[archive])/2] }, message: "checksum mismatch of " + archive},
		"no checksums":             {change: func(f map[string][]byte, _ install) { delete(f, "checksums.txt") }, message: "download failed: "},
		"no archive":               {change: func(f map[string][]byte, _ install) { delete(f, archive) }, message: "download failed: "},
		"a page for the archive":   {change: func(f map[string][]byte, _ install) { f[archive] = []byte(page) }, message: archive + " is a web page"},
		"a page for the checksums": {change: func(f map[string][]byte, _ install) { f["checksums.txt"] = []byte(page) }, message: "checksums.txt is a web page"},
		"a sum that is too short": {change: func(f map[string][]byte, _ install) {
			f["checksums.txt"] = []byte("ab  " + archive + "\n")
		}, message: "invalid sum of " + archive},
		"another version":            {args: []string{"--version", "9.9.9"}, message: "no archive of version 9.9.9"},
		"an unknown system":          {programs: map[string]string{"uname": "echo Plan9\n"}, message: "no release for Plan9"},
		"an unknown architecture":    {programs: map[string]string{"uname": "[ $1 = -s ] && echo Linux || echo riscv64\n"}, message: "no release for linux on riscv64: build it from source"},
		"Windows":                    {programs: map[string]string{"uname": "echo MINGW64_NT-10.0\n"}, message: "WSL"},
		"a program that fails":       {archive: [2]string{"millhand", "#!/bin/sh\necho wrong libc\nexit 1\n"}, message: "the program does not run on this machine: wrong libc"},
		"an archive without program": {archive: [2]string{"other", "x"}, message: "millhand not found in " + archive},
		"no curl and no wget":        {change: func(_ map[string][]byte, i install) { os.Remove(filepath.Join(i.bin, "curl")) }, message: "curl or wget not found"},
		"provenance required":        {args: []string{"--provenance", "require"}, message: "install gh or cosign"},
		"provenance not found":       {programs: map[string]string{"gh": "exit 0\n"}, message: "provenance not found"},
		"another provenance": {
			change:   func(f map[string][]byte, _ install) { f["provenance.sigstore.json"] = []byte("{}") },
			programs: map[string]string{"cosign": `[ "$2" = --help ] || { echo no matching signature; exit 1; }` + "\n"},
			message:  "no matching signature\nmillhand: cosign did not verify",
		},
		"an unknown option":        {args: []string{"--force"}, code: 2, message: "unknown option --force"},
		"an option without value":  {args: []string{"--dir"}, code: 2, message: "--dir requires a value"},
		"a version that is a path": {args: []string{"--version", "../x"}, code: 2, message: "invalid version ../x"},
	} {
		for _, before := range []string{"", "the old program"} {
			t.Run(name+", "+before, func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex // a server reads the files
				files := release(t)
				i := newInstall(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					serving(files)(out, r)
				}))
				if before != "" {
					os.MkdirAll(filepath.Join(i.home, ".local/bin"), 0o755)
					os.WriteFile(filepath.Join(i.home, installed), []byte(before), 0o755)
				}
				had := i.files(t)
				for program, text := range test.programs {
					i.script(t, program, text)
				}
				mu.Lock()
				if test.archive[0] != "" {
					maps.Copy(files, releaseOf(t, test.archive[0], test.archive[1]))
				}
				if test.change != nil {
					test.change(files, i)
				}
				mu.Unlock()
				code, out := i.install(t, test.args...)
				if code != max(test.code, 1) || !strings.Contains(out, test.message) {
					t.Errorf("exit code %d\n%s", code, out)
				}
				if diff := cmp.Diff(had, i.files(t)); diff != "" {
					t.Error(diff)
				}
				if before != "" && read(t, filepath.Join(i.home, installed)) != before {
					t.Error("the old program was changed")
				}
			})
		}
	}
}

func TestInstallThatIsKilledLeavesNoProgram(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			if notified.Ignored(signal) {
				t.Skip("this process ignores the signal, as nohup has it, and so do its children")
			}
			files, asked := release(t), make(chan struct{}, 9)
			served := serving(files)
			var slow atomic.Bool
			slow.Store(true)
			i := newInstall(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				if slow.Load() && strings.HasSuffix(r.URL.Path, ".tar.gz") {
					out.Write(files[archiveName()][:20])
					out.(http.Flusher).Flush()
					asked <- struct{}{}
					<-r.Context().Done()
					return
				}
				served(out, r)
			}))
			cmd := i.command(t, "/bin/sh", scripts.Root(t)+"/install.sh", "--base-url", i.base)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			pid := cmd.Process.Pid
			if signal == syscall.SIGKILL {
				pid = -pid // curl would continue
			}
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			left := i.files(t)
			if signal != syscall.SIGKILL && (len(left) != 0 || cmd.ProcessState.ExitCode() != 128+int(signal)) {
				t.Errorf("exit code %d, %q", cmd.ProcessState.ExitCode(), left)
			}
			if slices.Contains(left, installed) {
				t.Errorf("%q", left)
			}
			slow.Store(false)
			if code, out := i.install(t); code != 0 {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if diff := cmp.Diff([]string{".local", ".local/bin", installed}, i.files(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstallChecksProvenance(t *testing.T) {
	files := release(t)
	files["provenance.sigstore.json"] = []byte("{}")
	for name, want := range map[string]string{
		"gh":     `^gh attestation verify \S+/` + regexp.QuoteMeta(archiveName()) + ` --repo millhand/millhand --cert-identity https://github.com/millhand/millhand/.github/workflows/release.yml@refs/tags/v1.2.3 --bundle \S+/provenance.sigstore.json\n$`,
		"cosign": `^cosign verify-blob-attestation --bundle \S+/provenance.sigstore.json --new-bundle-format --type slsaprovenance1 --certificate-oidc-issuer https://token.actions.githubusercontent.com --certificate-identity https://github.com/millhand/millhand/.github/workflows/release.yml@refs/tags/v1.2.3 \S+/` + regexp.QuoteMeta(archiveName()) + `\n$`,
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstall(t, serving(files))
			log := filepath.Join(t.TempDir(), "log")
			i.script(t, name, `case " $* " in *" --help "*) ;; *) echo `+name+` "$@" >`+log+" ;; esac\n")
			if code, out := i.install(t, "--provenance", "require"); code != 0 || !strings.Contains(out, "checksum and provenance are correct ("+name+")") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if ran := read(t, log); !regexp.MustCompile(want).MatchString(ran) {
				t.Errorf("ran %s", ran)
			}
			i.script(t, name, "exit 1\n")
			if code, out := i.install(t, "--provenance", "skip"); code != 0 {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

// The latest release is the one that checksums.txt names, also if a newer one appears meanwhile.
func TestInstallFindsTheLatestRelease(t *testing.T) {
	i := newInstall(t, serving(nil))
	served, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for name, data := range release(t) {
		if err := os.WriteFile(filepath.Join(served, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	i.script(t, "curl", `while [ $# -gt 2 ]; do shift; done; echo "$2" >>`+log+`; cat "`+served+`/${2##*/}" >"$1"`+"\n")
	i.env = []string{"SHELL=/usr/bin/zsh"}
	for _, args := range [][]string{{}, {"--version", "v" + releasedVersion, "--dir", "bin"}} {
		cmd := i.command(t, "/bin/sh", append([]string{scripts.Root(t) + "/install.sh"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "~/.zshrc") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	const from = "https://github.com/millhand/millhand/releases/"
	want := from + "latest/download/checksums.txt\n" + from + "download/v1.2.3/" + archiveName() + "\n" + from + "download/v1.2.3/checksums.txt\n" + from + "download/v1.2.3/" + archiveName() + "\n"
	if diff := cmp.Diff(want, read(t, log)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(i.home, "bin/millhand")); err != nil {
		t.Error(err)
	}
}

// With wget, an older program, and a directory on PATH.
func TestInstallReplacesAnOlderProgram(t *testing.T) {
	i := newInstall(t, serving(release(t)))
	os.Remove(filepath.Join(i.bin, "curl"))
	i.tool(t, "wget")
	i.script(t, "millhand", "echo old\n")
	if code, out := i.install(t, "--dir", i.bin); code != 0 || strings.Contains(out, "export PATH") || !strings.Contains(out, "next: millhand doctor") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	out, err := i.command(t, filepath.Join(i.bin, "millhand"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "millhand ") {
		t.Errorf("%q, %v", out, err)
	}
	if code, out := i.install(t); code != 0 || !strings.Contains(out, ".local/bin is not on PATH") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	i.env = []string{"PATH=" + i.bin + ":" + filepath.Join(i.home, ".local/bin")}
	if code, out := i.install(t); code != 0 || !strings.Contains(out, "another millhand is first on PATH: "+filepath.Join(i.bin, "millhand")) {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
