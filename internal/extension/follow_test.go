package extension

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// named returns the names of tools that start with a prefix.
func named(all []tools.Tool, prefix string) (names []string) {
	for _, t := range all {
		if strings.HasPrefix(t.Spec().Name, prefix) {
			names = append(names, t.Spec().Name)
		}
	}
	return names
}

func TestChangesAreFollowed(t *testing.T) {
	r := &record{}
	set, err := Start(t.Context(), config(t, r, tasks.MCPServer{Name: "own", Follow: true}, tasks.MCPServer{Name: "pinned"}))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if !set.Follows() || (&Set{}).Follows() || (*Set)(nil).Follows() {
		t.Error("the set follows no changes, or one without servers does")
	}
	before, first := set.Refresh(t.Context(), "s", "build")
	if _, again := set.Refresh(t.Context(), "s", "build"); again != first {
		t.Errorf("version %d without a change, was %d", again, first)
	}
	for _, s := range set.servers {
		if _, err := s.live.Call(t.Context(), "grow", nil); err != nil {
			t.Fatal(err)
		}
	}
	after, second := set.Refresh(t.Context(), "s", "build")
	if second == first || slices.Contains(named(after, "own_"), "own_echo") || !slices.Contains(named(after, "own_"), "own_grown") {
		t.Errorf("version %d, was %d: %q", second, first, named(after, "own_"))
	}
	if got, want := named(after, "pinned_"), named(before, "pinned_"); !slices.Equal(got, want) {
		t.Errorf("the tools of the other server are %q, were %q", got, want)
	}
	if r.changes != 1 {
		t.Errorf("%d changes", r.changes)
	}
	r.warned(t, "pinned has changed its tools; the job continues with those of the start")
	if len(r.warnings) != 1 {
		t.Errorf("warnings %q", r.warnings)
	}
}

// A server that fails while it lists its tools again, or announces too many, keeps those that it had.
func TestChangesThatCannotBeFollowed(t *testing.T) {
	r := &record{}
	set, err := Start(t.Context(), config(t, r, tasks.MCPServer{Name: "own", Follow: true, Process: tasks.Process{Command: []string{"-tools", "128"}}, Switches: []tasks.ToolSwitch{{Pattern: "*", On: false}, {Pattern: "extra_*", On: true}, {Pattern: "grown", On: true}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if _, err := set.servers[0].live.Call(t.Context(), "grow", nil); err != nil {
		t.Fatal(err)
	}
	if all, _ := set.Refresh(t.Context(), "s", "build"); len(all) != 128 || slices.Contains(named(all, "own_"), "own_grown") {
		t.Errorf("%d tools are offered", len(all))
	}
	r.warned(t, "129 tools of MCP servers would be offered")
	set.servers[0].changed = true
	set.servers[0].live.Close()
	if all, _ := set.Refresh(t.Context(), "s", "build"); len(all) != 128 {
		t.Errorf("%d tools are offered", len(all))
	}
	r.warned(t, "has ended with the job; the job continues with its earlier tools")
}
