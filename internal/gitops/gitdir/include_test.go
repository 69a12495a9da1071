package gitdir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// open opens the repository of a sandbox with the configuration of its user.
func open(s *gittest.Sandbox) (*Dir, error) {
	at, err := discover(s.Root)
	if err != nil {
		return nil, err
	}
	return at.open(Env{Home: s.Home}, nil)
}

func TestIncludesMatchGit(t *testing.T) {
	const set = "[core]\n\texcludesFile = /included\n"
	for _, c := range nightly.Sample([]struct {
		name   string
		home   []string // files below the home directory, name and content
		local  string   // appended to the repository's configuration
		branch string   // of HEAD; "" is main
	}{
		{name: "a relative path", home: []string{".gitconfig", "[include]\n\tpath = sub/more\n", "sub/more", set}},
		{name: "a path below the home directory", home: []string{".gitconfig", "[include]\n\tpath = ~/more\n", "more", set}},
		{name: "from the repository", local: "[include]\n\tpath = ~/more\n", home: []string{"more", set}},
		{name: "relative to the git directory", local: "[include]\n\tpath = ../more\n", home: []string{"../repo/more", set}},
		{name: "a path below a file", home: []string{".gitconfig", set + "[include]\n\tpath = .gitconfig/more\n"}},
		{name: "a missing file", home: []string{".gitconfig", set + "[include]\n\tpath = nothing\n"}},
		{name: "values behind the include win", home: []string{".gitconfig", "[include]\n\tpath = more\n[core]\n\texcludesFile = /later\n", "more", set}},
		{name: "values before the include lose", home: []string{".gitconfig", "[core]\n\texcludesFile = /earlier\n[include]\n\tpath = more\n", "more", set}},
		{name: "several files", home: []string{".gitconfig", "[include]\n\tpath = a\n\tpath = b\n", "a", "[core]\n\texcludesFile = /a\n", "b", set}},
		{name: "a chain", home: []string{".gitconfig", "[include]\n\tpath = a\n", "a", "[include]\n\tpath = sub/b\n", "sub/b", "[include]\n\tpath = c\n", "sub/c", set}},
		{name: "an empty path", home: []string{".gitconfig", "[core]\n\texcludesFile = /x\n"}},
		{name: "a section in other letters", home: []string{".gitconfig", "[Include]\n\tPath = more\n", "more", set}},
		{name: "gitdir", home: []string{".gitconfig", "[includeIf \"gitdir:HERE/repo/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir of another repository", home: []string{".gitconfig", "[includeIf \"gitdir:HERE/other/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir without a slash at its end", home: []string{".gitconfig", "[includeIf \"gitdir:HERE/repo\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir in full", home: []string{".gitconfig", "[includeIf \"gitdir:HERE/repo/.git\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir with a star", home: []string{".gitconfig", "[includeIf \"gitdir:HERE/*/.git\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir by its last parts", home: []string{".gitconfig", "[includeIf \"gitdir:repo/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir relative to the file", home: []string{".gitconfig", "[includeIf \"gitdir:./../repo/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir below the home directory", home: []string{".gitconfig", "[includeIf \"gitdir:~/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir in other letters", home: []string{".gitconfig", "[includeIf \"gitdir:REPO/\"]\n\tpath = more\n", "more", set}},
		{name: "gitdir/i in other letters", home: []string{".gitconfig", "[includeIf \"gitdir/i:REPO/\"]\n\tpath = more\n", "more", set}},
		{name: "onbranch", home: []string{".gitconfig", "[includeIf \"onbranch:main\"]\n\tpath = more\n", "more", set}},
		{name: "onbranch of another branch", home: []string{".gitconfig", "[includeIf \"onbranch:other\"]\n\tpath = more\n", "more", set}},
		{name: "onbranch with a group", branch: "feature/x/y", home: []string{".gitconfig", "[includeIf \"onbranch:feature/\"]\n\tpath = more\n", "more", set}},
		{name: "onbranch with a star", branch: "feature/x/y", home: []string{".gitconfig", "[includeIf \"onbranch:feature/*\"]\n\tpath = more\n", "more", set}},
		{name: "hasconfig", local: "[remote \"origin\"]\n\turl = https://example.com/acme/x\n", home: []string{".gitconfig", "[includeIf \"hasconfig:remote.*.url:https://example.com/acme/**\"]\n\tpath = more\n", "more", set}},
		{name: "hasconfig of another URL", local: "[remote \"origin\"]\n\turl = https://example.com/acme/x\n", home: []string{".gitconfig", "[includeIf \"hasconfig:remote.*.url:https://example.com/other/**\"]\n\tpath = more\n", "more", set}},
		{name: "an unknown condition", home: []string{".gitconfig", "[includeIf \"weather:rain\"]\n\tpath = more\n", "more", set}},
		{name: "a condition without a kind", home: []string{".gitconfig", "[includeIf \"main\"]\n\tpath = more\n", "more", set}},
	}, 3, 0) {
		t.Run(c.name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			if c.branch != "" {
				s.Run("symbolic-ref", "HEAD", "refs/heads/"+c.branch)
			}
			for i := 0; i < len(c.home); i += 2 {
				s.At(s.Home).Write(c.home[i], strings.ReplaceAll(c.home[i+1], "HERE", filepath.Dir(s.Root)))
			}
			f, err := os.OpenFile(filepath.Join(s.Root, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString(c.local)
			must(t, err)
			must(t, f.Close())

			want, err := s.Command("config", "--get", "core.excludesFile").Output()
			if err != nil {
				want = []byte(filepath.Join(s.Home, ".config/git/ignore")) // unset
			}
			d, err := open(s)
			must(t, err)
			if got := d.Settings.ExcludesFile; got != strings.TrimSpace(string(want)) {
				t.Errorf("core.excludesFile is %q, git has %q", got, want)
			}
		})
	}
}

// TestAHomeThatIsAFile: HOME=/dev/null is common where there is no home directory.
func TestAHomeThatIsAFile(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Home = os.DevNull
	if _, err := open(s); err != nil {
		t.Error(err)
	}
}

func TestHostileIncludesEnd(t *testing.T) {
	for name, write := range map[string]func(s *gittest.Sandbox){
		"a file that includes itself": func(s *gittest.Sandbox) {
			s.Write(".git/more", "[include]\n\tpath = more\n")
		},
		"files that include one another many times": func(s *gittest.Sandbox) {
			for i := range 10 {
				s.Write(fmt.Sprintf(".git/more%d", i), strings.Repeat(fmt.Sprintf("[include]\n\tpath = more%d\n", i+1), 10))
			}
			s.Write(".git/more", "[include]\n\tpath = more0\n")
		},
		"a pipe": func(s *gittest.Sandbox) { s.Pipe(".git/more") },
	} {
		s := gittest.NewSandbox(t)
		s.Run("config", "include.path", "more")
		write(s)
		if _, err := open(s); err == nil || !strings.Contains(err.Error(), "more") {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}
