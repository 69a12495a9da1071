package tools

import (
	"slices"
	"testing"
)

func TestWhatCallsWrite(t *testing.T) {
	write := args{"filePath": "b.txt", "content": "x"}
	for name, c := range map[string]struct {
		tool  string
		in    args
		files []string
		only  bool
	}{
		"read":          {"read", args{"filePath": "a.txt"}, nil, true},
		"write":         {"write", write, []string{"b.txt"}, true},
		"edit":          {"edit", args{"filePath": "a.txt", "oldString": "one", "newString": "two"}, []string{"a.txt"}, true},
		"a failed edit": {"edit", args{"filePath": "a.txt", "oldString": "two", "newString": "one"}, []string{"a.txt"}, true},
		"apply_patch":   {"apply_patch", patchOf("*** Update File: a.txt", "*** Move to: d/c.txt", "@@", "-one", "+two"), []string{"a.txt", "d/c.txt"}, true},
		"batch":         {"batch", batchOf(batched("write", write), batched("read", args{"filePath": "a.txt"})), []string{"b.txt"}, true},
		"bash":          {"bash", args{"command": "true"}, nil, false},
		"batch of bash": {"batch", batchOf(batched("write", write), batched("bash", args{"command": "true"})), []string{"b.txt"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, "build", map[string]string{"a.txt": "one\n"})
			s.equip(withCache)
			if _, only := s.env.Tree.Written(); only {
				t.Error("before the first search nothing is known")
			}
			s.call(c.tool, c.in)
			files, only := s.env.Tree.Written()
			for i := range c.files {
				c.files[i] = s.dir + "/" + c.files[i]
			}
			if !slices.Equal(files, c.files) || only != c.only {
				t.Errorf("got %q, %v; want %q, %v", files, only, c.files, c.only)
			}
			if files, only := s.env.Tree.Written(); len(files) > 0 || !only {
				t.Errorf("the second time: %q, %v", files, only)
			}
			s.env.Tree.Touch()
			if _, only := s.env.Tree.Written(); only {
				t.Error("after the commands of verify")
			}
		})
	}
}

func TestChangesWhileWatched(t *testing.T) {
	tree := NewTree(0)
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
