package site

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/millhand/millhand/tasks"
)

func TestCopiesHaveNamesOfTheirOwn(t *testing.T) {
	c := &copies{names: map[string]bool{}}
	var got []string
	for _, name := range []string{"a/b", "a-b", "a b", "..", "é"} {
		got = append(got, c.name(name))
	}
	if diff := cmp.Diff([]string{"a-b", "a-b-2", "a-b-3", "-2", "-3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCopiesOfADirectoryAreMadeOnce(t *testing.T) {
	s := setUp(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), "x\n")
	c := newCopies(&s.opts)
	first, err := c.open(t.Context(), tasks.Repo{Name: "n", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.open(t.Context(), tasks.Repo{Name: "n", Dir: dir}); again != first {
		t.Error("it was copied twice")
	}
	if other, err := c.open(t.Context(), tasks.Repo{Name: "n", Dir: t.TempDir()}); err != nil || other == first {
		t.Errorf("another directory of the same name: %v", err)
	}
}
