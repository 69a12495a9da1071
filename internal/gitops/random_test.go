package gitops

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// invention generates random repositories, and random changes in them.
type invention struct {
	*gittest.Sandbox
	r     *rand.Rand
	paths []string // files and symlinks that were written, some of them deleted since
}

// of returns a random choice.
func of[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

var (
	randomNames = []string{
		"a", "b.txt", "c.go", "d.auto", "e.bin", "f.crlf", "README", "x.log", "keep.log", "build", "sp ace", "-dash", "tab\there", "new\nline",
		"quote\"back\\slash", "caf\xe9", "cafe\u0301", "café", "ÜPPER", "Case", "case", "*?[x]", "!bang", "#hash", "\x01\x7f", "\xff\xfe", "a~1", "con",
		"trailing.", "..dots", ".hidden", ".gitx", "git~2", "sub", "lib", "deep", strings.Repeat("long", 40),
	}
	randomLines    = []string{"one", "two", "$Id$", "$Id: 1234 $", "", "\t", "tail  ", "\xff", "ünï", "@@ -1 +1 @@", "-- ", "diff --git a/a b/a", "\\ No newline at end of file"}
	randomEnds     = []string{"\n", "\n", "\n", "\r\n", "\r", "\r\r\n", ""}
	randomIgnores  = []string{"*.log", "!keep.log", "/build", "build/", "sub/*", "!sub/a", "**/deep", "deep/**", "*.[ab]*", "\\#hash", "\\!bang", "sp ace", "a\\", "[", "*~1", "!*/", "*", "!.gitignore", "Case", "caf*", "/lib/**/a", " ", "x.log "}
	randomAttrs    = []string{"* text=auto", "*.txt text", "*.bin -text", "*.bin binary", "*.crlf text eol=crlf", "*.auto text=auto eol=lf", "* ident", "*.go -text", "sub/* text", "\"sp ace\" text", "*.txt !text", "*.log -diff", "README diff", "/lib/* eol=crlf", "* -ident"}
	randomSettings = []string{
		"core.autocrlf=true", "core.autocrlf=input", "core.eol=crlf", "core.eol=lf", "core.fileMode=false", "core.precomposeUnicode=true", "core.untrackedCache=true",
		"core.quotePath=false", "core.ignoreCase=false", "core.checkStat=minimal", "core.trustCtime=false", "index.version=4", "feature.manyFiles=true", "core.excludesFile=~/mine.ignore",
		"core.attributesFile=~/mine.attributes", "diff.noprefix=true", "core.compression=0", "core.looseCompression=9",
	}
)

// path returns a path of up to four names, or one that was written before.
func (i *invention) path() string {
	if len(i.paths) > 0 && i.r.IntN(3) == 0 {
		return of(i.r, i.paths...)
	}
	names := make([]string, 1+i.r.IntN(1+i.r.IntN(4)))
	for n := range names {
		names[n] = of(i.r, randomNames...)
	}
	return strings.Join(names, "/")
}

func (i *invention) text() string {
	switch i.r.IntN(12) {
	case 0:
		return ""
	case 1:
		return binaryText + strings.Repeat("\x00abc", i.r.IntN(1000))
	case 2:
		return strings.Repeat(of(i.r, randomLines...)+"\n", i.r.IntN(500))
	}
	var text strings.Builder
	end := of(i.r, randomEnds...)
	for range i.r.IntN(12) {
		if i.r.IntN(5) == 0 {
			end = of(i.r, randomEnds...)
		}
		text.WriteString(of(i.r, randomLines...) + end)
	}
	return text.String()
}

// clear deletes the file at a path, and files that replaced directories above it.
func (i *invention) clear(path string) {
	names := strings.Split(path, "/")
	for n := 1; n < len(names); n++ {
		dir := filepath.Join(names[:n]...)
		if info, err := os.Lstat(filepath.Join(i.Root, dir)); err == nil && !info.IsDir() {
			i.Remove(dir)
		}
	}
	i.Remove(path)
}

// mode returns the type of the file at a path; [os.ModeIrregular] if it is missing or
// beyond a symlink.
func (i *invention) mode(path string) os.FileMode {
	root, err := os.OpenRoot(i.Root)
	must(i.T, err)
	defer root.Close()
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return os.ModeIrregular
		}
	}
	info, err := root.Lstat(path)
	if err != nil {
		return os.ModeIrregular
	}
	return info.Mode().Type()
}

// work makes n random changes.
func (i *invention) work(n int) {
	for range n {
		path := i.path()
		at := filepath.Join(i.Root, path)
		mode := i.mode(path)
		exists := mode != os.ModeIrregular
		switch kind := i.r.IntN(20); {
		case kind < 9:
			i.clear(path)
			i.Write(path, i.text())
		case kind < 11:
			i.clear(path)
			target := of(i.r, "a", "..", "/etc/passwd", "nowhere", "sub")
			if (path == "a" || path == "sub") && (target == "a" || target == "sub") {
				// git add leaves out files below a loop, with a warning, if it is ignored: it can't
				// tell that they are gone. Their deletion is committed here.
				target = "nowhere"
			}
			i.Symlink(target, path)
		case kind < 13 && exists:
			i.Remove(path)
			continue
		case kind < 14 && exists:
			to := i.path()
			if slices.Contains(i.paths, to) || strings.HasPrefix(to+"/", path+"/") || strings.HasPrefix(path+"/", to+"/") {
				continue
			}
			i.clear(to)
			must(i.T, os.MkdirAll(filepath.Dir(filepath.Join(i.Root, to)), 0o755))
			must(i.T, os.Rename(at, filepath.Join(i.Root, to)))
			path = to
		case kind < 16 && mode.IsRegular():
			info, err := os.Lstat(at)
			must(i.T, err)
			must(i.T, os.Chmod(at, info.Mode().Perm()^0o111))
			must(i.T, os.Chtimes(at, time.Now(), time.Now())) // git compares seconds, and two changes of a mode take less
		case kind < 17:
			i.writeIn(path, ".gitignore", randomIgnores)
			continue
		case kind < 18:
			i.writeIn(path, ".gitattributes", randomAttrs)
			continue
		case kind < 19 && !exists:
			i.clear(path)
			must(i.T, os.MkdirAll(at, 0o755))
			continue
		default:
			continue
		}
		i.paths = append(i.paths, path)
	}
}

// writeIn writes some of the lines to a file in the directory of a path, if it is
// one.
func (i *invention) writeIn(path, name string, lines []string) {
	dir := filepath.Dir(path)
	if !i.mode(dir).IsDir() {
		dir = "."
	}
	i.clear(filepath.Join(dir, name))
	i.Write(filepath.Join(dir, name), i.some(lines))
}

func (i *invention) some(lines []string) string {
	var text strings.Builder
	for range 1 + i.r.IntN(4) {
		text.WriteString(of(i.r, lines...) + of(i.r, "\n", "\n", "\n", "\r\n"))
	}
	return text.String()
}

// configure sets random configuration, of the repository or of the user, and brings
// the repository into one of the forms that it may have.
func (i *invention) configure() {
	for range i.r.IntN(4) {
		key, value, _ := strings.Cut(of(i.r, randomSettings...), "=")
		i.Run("config", of(i.r, "--local", "--global"), key, value)
	}
	mine := i.At(i.Home)
	if i.r.IntN(3) == 0 {
		mine.Write(of(i.r, "mine.ignore", ".config/git/ignore"), i.some(randomIgnores))
	}
	if i.r.IntN(3) == 0 {
		mine.Write(of(i.r, "mine.attributes", ".config/git/attributes"), i.some(randomAttrs))
	}
	if i.r.IntN(4) == 0 {
		i.Write(of(i.r, ".git/info/exclude"), i.some(randomIgnores))
	}
	if i.r.IntN(4) == 0 {
		i.Write(".git/info/attributes", i.some(randomAttrs))
	}
	for range i.r.IntN(3) {
		switch i.r.IntN(6) {
		case 0:
			i.Run("gc", "-q")
		case 1:
			i.Run("pack-refs", "--all")
		case 2:
			i.Run("checkout", "-q", "--detach")
		case 3:
			i.Run("update-index", "--force-untracked-cache")
		case 4:
			i.Run("commit-graph", "write", "--reachable")
		case 5:
			i.Run("status")
		}
	}
}

// TestRandomRepositories compares the commits of random work in random repositories
// with those that git makes of the same work in a copy of the repository.
func TestRandomRepositories(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	random := nightly.Random(t)
	count := nightly.Count(15, 2000, 20_000)
	for range count {
		seed := random.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			compareRandom(t, &invention{Sandbox: gittest.NewSandbox(t), r: rand.New(rand.NewPCG(seed, 0))}) //nolint:gosec // a repeatable sequence is wanted
		})
	}
	t.Logf("%d repositories", count)
}

// commit commits everything, with files that are older than the index: git's result
// for files of the same age depends on the speed of the test.
func (i *invention) commit() string {
	old := time.Now().Add(-time.Hour)
	must(i.T, filepath.WalkDir(i.Root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
	return i.Commit()
}

// growth returns the difference of added and removed lines of the files in the output
// of git diff --numstat -z, or "-" if they are binary: diffs can differ in the lines that
// they consider equal, and git's is not always the smallest.
func growth(t *testing.T, numstat string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(numstat, "\x00"), "\x00") {
		var added, removed int
		fields := strings.SplitN(entry, "\t", 3)
		if len(fields) != 3 {
			continue
		}
		lines[fields[2]] = "-"
		if _, err := fmt.Sscan(fields[0]+" "+fields[1], &added, &removed); err == nil {
			lines[fields[2]] = strconv.Itoa(added - removed)
		}
	}
	return lines
}

func compareRandom(t *testing.T, i *invention) {
	t.Helper()
	i.work(i.r.IntN(25))
	base := i.commit()
	i.configure()
	if i.r.IntN(2) == 0 {
		i.work(i.r.IntN(6))
		base = i.commit()
	}
	i.work(1 + i.r.IntN(25))
	r := opened(i.Sandbox)
	want := i.AddedTree()
	if want == i.Run("rev-parse", base+"^{tree}") {
		if _, err := r.Commit(t.Context(), measure(t, r, base), options(base)); !errors.Is(err, ErrNothingToCommit) {
			t.Errorf("a commit of nothing: %v", err)
		}
		return
	}
	counts := i.Run("diff-tree", "-r", "--no-renames", "--numstat", "-z", base, want)
	cs := measure(t, r, base)
	if got, want := growth(t, numstat(cs)), growth(t, counts); !maps.Equal(got, want) {
		t.Errorf("files grow by %q lines, and for git by %q", got, want)
	}
	patch, err := r.Patch(t.Context(), cs)
	must(t, err)
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	if got.Tree != want {
		t.Errorf("the tree differs from git's:\n%s", i.Run("diff-tree", "-r", "-p", want, got.Tree))
	}
	if staged := i.Run("diff", "--cached", "--name-status"); staged != "" {
		t.Errorf("the index differs from the commit:\n%s", staged)
	}
	i.Fsck()
	if tree := applied(i, base, patch); tree != want {
		t.Errorf("the patch makes another tree:\n%s\n%s", i.Run("diff-tree", "-r", "-p", want, tree), patch)
	}
}

// applied returns the tree that results from applying a patch to a commit.
func applied(i *invention, base string, patch []byte) string {
	i.T.Helper()
	dir, tree := i.T.TempDir(), ""
	must(i.T, os.WriteFile(filepath.Join(dir, "patch"), patch, 0o600))
	for _, args := range [][]string{{"read-tree", base}, {"apply", "--cached", "--allow-empty", "--whitespace=nowarn", filepath.Join(dir, "patch")}, {"write-tree"}} {
		cmd := i.Command(args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			i.T.Fatalf("git %v: %v\n%s\n%s", args, err, out, patch)
		}
		tree = strings.TrimSpace(string(out))
	}
	return tree
}
