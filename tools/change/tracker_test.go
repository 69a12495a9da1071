package change_test

import (
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools/change"
)

func TestWhatCallsWrite(t *testing.T) {
	write := tooltest.Args{"filePath": "b.txt", "content": "x"}
	for name, c := range map[string]struct {
		tool  string
		in    tooltest.Args
		files []string
		only  bool
	}{
		"read":          {"read", tooltest.Args{"filePath": "a.txt"}, nil, true},
		"write":         {"write", write, []string{"b.txt"}, true},
		"edit":          {"edit", tooltest.Args{"filePath": "a.txt", "oldString": "one", "newString": "two"}, []string{"a.txt"}, true},
		"a failed edit": {"edit", tooltest.Args{"filePath": "a.txt", "oldString": "two", "newString": "one"}, []string{"a.txt"}, true},
		"apply_patch":   {"apply_patch", tooltest.PatchOf("*** Update File: a.txt", "*** Move to: d/c.txt", "@@", "-one", "+two"), []string{"a.txt", "d/c.txt"}, true},
		"batch":         {"batch", tooltest.BatchOf(tooltest.Batched("write", write), tooltest.Batched("read", tooltest.Args{"filePath": "a.txt"})), []string{"b.txt"}, true},
		"bash":          {"bash", tooltest.Args{"command": "true"}, nil, false},
		"batch of bash": {"batch", tooltest.BatchOf(tooltest.Batched("write", write), tooltest.Batched("bash", tooltest.Args{"command": "true"})), []string{"b.txt"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n"})
			s.Equip(tooltest.WithCache)
			if _, only := s.Env.Changes.Written(); only {
				t.Error("before the first search nothing is known")
			}
			s.Call(c.tool, c.in)
			files, only := s.Env.Changes.Written()
			for i := range c.files {
				c.files[i] = s.Dir + "/" + c.files[i]
			}
			if !slices.Equal(files, c.files) || only != c.only {
				t.Errorf("got %q, %v; want %q, %v", files, only, c.files, c.only)
			}
			if files, only := s.Env.Changes.Written(); len(files) > 0 || !only {
				t.Errorf("the second time: %q, %v", files, only)
			}
			s.Env.Changes.Touch()
			if _, only := s.Env.Changes.Written(); only {
				t.Error("after the commands of verify")
			}
		})
	}
}

func TestChangesWhileWatched(t *testing.T) {
	tree := change.New(0)
	tree.Changing(true)()
	quiet := tree.Watch()
	if quiet() {
		t.Error("a call that has ended counts")
	}
	done := tree.Changing(false)
	if !quiet() {
		t.Error("a call that began later does not count")
	}
	during := tree.Watch()
	done()
	if !during() {
		t.Error("a call that ended later does not count")
	}
	if after := tree.Watch(); after() {
		t.Error("a call that ended before counts")
	}
}
