package ablation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func text(s string) Content { return Content{Regular, []byte(s)} }

func TestAChangeIsDividedIntoHunks(t *testing.T) {
	c := Read([]File{
		{"b.go", text("1\n2\n3\n4\n5\n"), text("1\nX\n3\n4\n5\n6\n")},
		{"a.bin", Content{Regular, []byte{0}}, Content{Regular, []byte{0, 1}}},
		{"new.go", Content{}, text("a\nb\n")},
		{"gone.go", text("a\n"), Content{}},
		{"run.sh", text("a\n"), Content{Executable, []byte("b\n")}},
		{"link", text("a\n"), Content{Symlink, []byte("b")}},
		{"a_test.go", text("a\n"), text("b\n")},
		{"src/lib.rs", text("a\n#[cfg(test)]\nb\n"), text("A\n#[cfg(test)]\nB\n")},
	})
	var got []string
	for _, h := range c.Hunks {
		got = append(got, fmt.Sprintf("%s %s %d +%d -%d %v", h.Path, h.Kind, h.Line, h.Added, h.Removed, h.Test))
	}
	want := []string{
		"a.bin replaced 0 +0 -0 false", "a_test.go lines 1 +1 -1 true", "b.go lines 2 +1 -1 false", "b.go lines 6 +1 -0 false", "gone.go deleted 0 +0 -1 false",
		"link replaced 0 +0 -0 false", "new.go added 0 +2 -0 false", "run.sh mode 0 +0 -0 false", "run.sh lines 1 +1 -1 false",
		"src/lib.rs lines 1 +1 -1 false", "src/lib.rs lines 3 +1 -1 true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestATreeIsTheChangeWithoutHunks(t *testing.T) {
	c := Read([]File{{"a.go", text("1\n2\n3\n4\n5"), Content{Executable, []byte("0\n1\n3\n4\nfive\nsix")}}})
	for _, h := range []struct {
		without Set
		want    Content
	}{
		{Set{}, Content{Executable, []byte("0\n1\n3\n4\nfive\nsix")}},
		{Set{0: true}, Content{Regular, []byte("0\n1\n3\n4\nfive\nsix")}},
		{Set{1: true}, Content{Executable, []byte("1\n3\n4\nfive\nsix")}},
		{Set{2: true}, Content{Executable, []byte("0\n1\n2\n3\n4\nfive\nsix")}},
		{Set{1: true, 3: true}, Content{Executable, []byte("1\n3\n4\n5")}},
		{c.Base(), text("1\n2\n3\n4\n5")},
	} {
		if diff := cmp.Diff(Tree{{"a.go", h.want}}, c.Tree(h.without)); diff != "" {
			t.Errorf("without %v: %s", h.without, diff)
		}
	}
}

func TestTreesWithDifferentFilesHaveDifferentKeys(t *testing.T) {
	seen := map[string]Tree{}
	for _, tree := range []Tree{
		{},
		{{"a", text("x")}},
		{{"a", text("y")}},
		{{"b", text("x")}},
		{{"a", Content{Symlink, []byte("x")}}},
		{{"a", Content{}}},
		{{"a", text("")}},
		{{"a", text("x")}, {"b", text("")}},
		{{"a", text("x1 b file 0\n")}},
	} {
		if other, ok := seen[tree.Key()]; ok {
			t.Errorf("%v and %v have the same key", tree, other)
		}
		seen[tree.Key()] = tree
	}
}

// Whatever the texts are, without all hunks there is the base, and without none the change; hunks of a file are independent.
func FuzzTree(f *testing.F) {
	f.Add("a\nb\nc", "a\nX\nc\nd", uint64(1))
	f.Add("", "a\r\n\n", uint64(0))
	f.Add("a\na\na\n", "a\n", uint64(5))
	f.Fuzz(func(t *testing.T, before, after string, choice uint64) {
		if before == after {
			return
		}
		c := Read([]File{{"f.txt", text(before), text(after)}})
		if got := string(c.Tree(nil)[0].Data); got != after {
			t.Errorf("without nothing: %q", got)
		}
		if got := string(c.Tree(c.Base())[0].Data); got != before {
			t.Errorf("without all: %q", got)
		}
		some := Set{}
		for i := range c.Hunks {
			if choice>>(i%64)&1 == 1 {
				some[i] = true
			}
		}
		mixed := string(c.Tree(some)[0].Data)
		for line := range strings.Lines(mixed) {
			if line = strings.TrimSuffix(line, "\n"); !strings.Contains(before, line) && !strings.Contains(after, line) {
				t.Errorf("line %q is in neither text", line)
			}
		}
	})
}
