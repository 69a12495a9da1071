package content

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func FuzzParseAttributes(f *testing.F) {
	f.Add("* text=auto\n*.c -text !eol\n[attr]m text\n\"q\\303\" m\n", "d/x.c")
	f.Add("[attr]a b\n[attr]b a\n* a\n", "x")
	f.Add("!no text\n#c\n dir/ text\n * \n\"\\", "dir/x")
	f.Fuzz(func(t *testing.T, text, path string) {
		stack := gitdir.AttributeStack{gitdir.ParseAttributes([]byte(text), "", true), gitdir.ParseAttributes([]byte(text), "d", false)}
		a := stack.Of(path)
		if e := endings(a, "input"); e < keepEndings || e > guessEndings {
			t.Errorf("got %v", e)
		}
	})
}

func TestAttributesAgreeWithGit(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitattributes", "# comment\n*.a text\n*.b -text eol=lf\n*.c text=auto !eol\n\t  *.d\ttext eol=crlf  \n"+
		"[attr]mine -text filter=x\n*.m mine\n*.n mine text\n*.o text mine\n/top.e ident\nsub/*.f ident\n**/g text\nh/ text\n"+
		"!neg text\n\\#hash text\n\"with space\" text\n\"oct\\303\\274\" text\n[ab]?.i text\n*.b filter=late\nmacro binary\nxx text=weird eol=\n",
		"sub/.gitattributes", "*.a -text\n/g !text\n[attr]no text\nx no\n*.k text\n",
		"sub/deep/.gitattributes", "*.a !text\n",
		".git/info/attributes", "*.last text=auto\n*.k -text\n")
	s.At(s.Home).Write(".config/git/attributes", "*.last text\n*.home ident\n*.a filter=home\n[attr]fromhome text\n")
	s.Write("uses.fromhome", "", ".gitignore", "")
	names := []string{
		"x.a", "sub/x.a", "sub/deep/x.a", "x.b", "x.c", "x.d", "x.m", "x.n", "x.o", "top.e", "sub/top.e", "sub/x.f", "sub/deep/x.f",
		"g", "sub/g", "sub/deep/g", "h/x", "neg", "#hash", "with space", "octü", "ab.i", "zz.i", "macro", "sub/x", "sub/x.k", "x.last", "x.home", "xx",
	}
	attrs := []string{"text", "eol", "filter", "ident", "diff"}
	git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home})
	must(t, err)
	tree, err := Open(git, Filters{}, false)
	must(t, err)
	defer tree.Close()
	for _, name := range names {
		want := map[string]string{}
		fields := strings.Split(s.Run(append(append([]string{"check-attr", "-z"}, attrs...), "--", name)...), "\x00")
		for three := range slices.Chunk(fields[:len(fields)-1], 3) {
			want[three[1]] = three[2]
		}
		a, err := tree.Attributes(name)
		must(t, err)
		got := map[string]string{}
		for _, attr := range attrs {
			switch got[attr] = a[attr]; a[attr] {
			case "true":
				got[attr] = "set"
			case "false":
				got[attr] = "unset"
			case "":
				got[attr] = "unspecified"
			}
		}
		if want["eol"] == "" { // an empty value has no meaning
			want["eol"] = "unspecified"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-git +got):\n%s", name, diff)
		}
	}
}

func TestNamesThatSomeSystemReadsAsGitAreReserved(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git ": true, ".git...": true, ".git::$INDEX_ALLOCATION": true, "git~1": true, "GIT~1": true,
		".g\u200cit": true, ".git\ufeff": true, ".gi\u202et": true, `a\.git`: true, `.git\x`: true,
		".gitignore": false, ".github": false, "git": false, ".git2": false, "git~2": false, "x.git": false, "": false, ".gi": false,
	} {
		if got := Reserved(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}
