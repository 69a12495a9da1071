package ignore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The oracle tests put ignore files into a repository and ask git about paths.

func TestOneLineMatchesGit(t *testing.T) {
	repo := newRepo(t)
	var want []string
	for i, c := range lineCases {
		dir := fmt.Sprintf("c%03d", i)
		name, isDir := split(c.path)
		write(t, filepath.Join(repo, dir, ".gitignore"), c.file)
		if isDir {
			mkdir(t, filepath.Join(repo, dir, name))
		}
		// git speaks about a path with the directories above it: a case whose
		// directory is ignored as well is asked as Ignored is, name by name.
		if c.want || walkIgnored(New().Descend("", []byte(c.file)), name, isDir) {
			want = append(want, dir+"/"+name)
		}
	}
	var paths []string
	for i, c := range lineCases {
		name, _ := split(c.path)
		paths = append(paths, fmt.Sprintf("c%03d/%s", i, name))
	}
	if d := cmp.Diff(want, askGit(t, repo, paths)); d != "" {
		t.Errorf("ignored (-want +git):\n%s", d)
	}
}

// walkIgnored asks about a path as a walk from the root does.
func walkIgnored(m *Matcher, name string, isDir bool) bool {
	for i := range name {
		if name[i] == '/' && m.Ignored(name[:i], true) {
			return true
		}
	}
	return m.Ignored(name, isDir)
}

// Ignore files in several directories of a tree, all made from pieces by chance,
// and every path of the tree. Only directories and ignore files exist on the disk:
// git takes a path that does not exist for a file.
func TestGeneratedPatternsMatchGit(t *testing.T) {
	seeds, trees := uint64(2), 150
	if testing.Short() {
		seeds, trees = 1, 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			repo := newRepo(t)
			write(t, filepath.Join(repo, ".git/info/exclude"), "*.ex\n!b\n")
			files := map[string]string{".": "z/c\n*.tmp\n"}
			var tree []string
			for i := range trees {
				dirs := len(tree)
				tree = growTree(rng, tree, fmt.Sprintf("t%d", i), 3)
				for range 1 + rng.IntN(3) {
					below, _ := split(tree[dirs+rng.IntN(len(tree)-dirs)])
					if !slices.Contains(tree, below+"/") {
						below = path.Dir(below)
					}
					files[below] = randomFile(rng)
				}
			}
			for dir, text := range files {
				write(t, filepath.Join(repo, dir, ".gitignore"), text)
			}
			paths, want := walk(t, repo, tree, files)
			got := askGit(t, repo, paths)
			if len(want) < len(paths)/10 || len(want) > len(paths)*9/10 {
				t.Errorf("%d of %d paths are ignored: the patterns say too little", len(want), len(paths))
			}
			for _, p := range symmetricDiff(want, got) {
				t.Errorf("%s: git says ignored=%v, with\n%s", p, slices.Contains(got, p), rulesAbove(files, p))
			}
		})
	}
}

// walk makes the directories, asks about every path of the tree, parents first,
// and returns all paths and the ignored ones.
func walk(t *testing.T, repo string, tree []string, files map[string]string) (paths, ignored []string) {
	t.Helper()
	top := New(Parse([]byte("*.ex\n!b\n"))).Descend(".", []byte(files["."]))
	rules := map[string]*Matcher{".": top}
	dropped := map[string]bool{}
	for _, p := range tree {
		p, isDir := split(p)
		dir := path.Dir(p)
		paths = append(paths, p)
		if dropped[dir] || rules[dir].Ignored(p, isDir) {
			ignored = append(ignored, p)
			dropped[p] = true
		}
		if isDir {
			mkdir(t, filepath.Join(repo, p))
			rules[p] = rules[dir].Descend(p, []byte(files[p]))
		}
	}
	return paths, ignored
}

var names = []string{"a", "b", "c", "ab", "abc", "a.o", "b.o", "c.tmp", "d.ex", ".a", "a b", "foo", "foo bar", "A", "1", "[a]", "a*", "z", "é", "a-b", "#a", "!b"}

// growTree adds a directory and what it gets by chance. Directories end with a slash.
func growTree(rng *rand.Rand, tree []string, dir string, depth int) []string {
	tree = append(tree, dir+"/")
	start := len(tree)
	for range 2 + rng.IntN(5) {
		p := dir + "/" + names[rng.IntN(len(names))]
		switch {
		case slices.Contains(tree[start:], p) || slices.Contains(tree[start:], p+"/"):
		case depth > 0 && rng.IntN(2) == 0:
			tree = growTree(rng, tree, p, depth-1)
		default:
			tree = append(tree, p)
		}
	}
	return tree
}

var pieces = []string{
	"a", "b", "c", "foo", "o", ".", "ab", "é", " ", "-", "#", "1",
	"*", "*", "**", "**", "***", "?", "/", "/", "/", "**/", "/**", "/**/", "*.o", "*/",
	"[a]", "[!a]", "[^b]", "[a-c]", "[]a]", "[[:alpha:]]", "[[:nope:]]", "[a", "[c-a]", "[!a-b-c]", "[[:digit:].]", "[/]", `[\]]`,
	`\`, `\*`, `\a`, `\/`, `\[`, `\ `, "!",
}

func randomFile(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		if rng.IntN(3) == 0 {
			b.WriteByte('!')
		}
		line := randomLine(rng)
		b.WriteString(line)
		b.WriteString([]string{"\n", "\n", "\r\n", " \n", "/\n"}[rng.IntN(5)])
	}
	return b.String()
}

func randomLine(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(5) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// Each byte against each POSIX class, and each range of a few.
func TestClassesMatchGit(t *testing.T) {
	repo := newRepo(t)
	var paths, want []string
	for i, class := range []string{
		"[[:alnum:]]", "[[:alpha:]]", "[[:blank:]]", "[[:cntrl:]]", "[[:digit:]]", "[[:graph:]]", "[[:lower:]]", "[[:print:]]",
		"[[:punct:]]", "[[:space:]]", "[[:upper:]]", "[[:xdigit:]]", "[!-~]", "[^[:punct:]]", "[\x80-\xff]", `[\--\]]`, "[+--]", "[A-z]",
	} {
		dir := fmt.Sprintf("c%d", i)
		m := New().Descend(dir, []byte("x"+class))
		write(t, filepath.Join(repo, dir, ".gitignore"), "x"+class+"\n")
		for b := 1; b < 256; b++ {
			if b == '/' {
				continue
			}
			p := dir + "/x" + string([]byte{byte(b)})
			paths = append(paths, p)
			if m.Ignored(p, false) {
				want = append(want, p)
			}
		}
	}
	if d := cmp.Diff(want, askGit(t, repo, paths)); d != "" {
		t.Errorf("ignored (-ours +git):\n%s", d)
	}
}

// newRepo makes an empty repository without any configuration of the user's,
// and skips the test where there is no git.
func newRepo(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	repo := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return repo
}

// askGit returns those of the paths that git ignores, in their order.
func askGit(t *testing.T, repo string, paths []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "-C", repo, "check-ignore", "--no-index", "--stdin", "-z")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git check-ignore: %v\n%s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func symmetricDiff(a, b []string) []string {
	in := map[string]int{}
	for _, p := range a {
		in[p]++
	}
	for _, p := range b {
		in[p]++
	}
	var diff []string
	for p, n := range in {
		if n == 1 {
			diff = append(diff, p)
		}
	}
	slices.Sort(diff)
	return diff
}

func rulesAbove(files map[string]string, p string) string {
	var b strings.Builder
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if text, ok := files[dir]; ok {
			fmt.Fprintf(&b, "%s/.gitignore: %q\n", dir, text)
		}
	}
	return b.String()
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
