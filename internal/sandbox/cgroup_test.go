//go:build linux

package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseHierarchy(t *testing.T) {
	const mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	tests := []struct {
		mountinfo, cgroup string
		want              hierarchy
		ok                bool
	}{
		{mount, "0::/user.slice/x.scope\n", hierarchy{"/sys/fs/cgroup", "", "/user.slice/x.scope"}, true},
		{mount, "0::/\n", hierarchy{"/sys/fs/cgroup", "", "/"}, true},
		{"41 32 0:26 /pod/a /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/pod/a/b\n", hierarchy{"/sys/fs/cgroup", "/pod/a", "/pod/a/b"}, true},
		{"41 32 0:26 /pod/a /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/elsewhere\n", hierarchy{"/sys/fs/cgroup", "/pod/a", "/elsewhere"}, false},
		{"", "0::/\n", hierarchy{own: "/"}, false},
		{mount, "3:pids:/x\n", hierarchy{mount: "/sys/fs/cgroup"}, false},
	}
	for _, tt := range tests {
		if got, ok := parseHierarchy(tt.mountinfo, tt.cgroup); got != tt.want || ok != tt.ok {
			t.Errorf("%q, %q: got %+v, %t", tt.mountinfo, tt.cgroup, got, ok)
		}
	}
}

// Commands are started in the control group, and remaining processes in it are killed.
// This part can be tested on machines without delegated controllers, too.
func TestCommandsAreInTheirGroup(t *testing.T) {
	h, ok := findHierarchy()
	if !ok {
		t.Skip("there are no control groups of version 2")
	}
	g, err := makeGroup(filepath.Join(h.mount, strings.TrimPrefix(h.own, h.root)), nil)
	if err != nil || g == nil {
		t.Skipf("no group can be made here: %v", err)
	}
	defer func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(g.dir); err == nil {
			t.Error("the group is still there")
		}
	}()
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			s := inside(t, p.spec(), level)
			s.group = g
			got := bash(t, s, `cat /proc/self/cgroup | grep ^0:; test -s /proc/self/cgroup`)
			inside := level == Full && strings.Contains(got.output, "0::/\n") || strings.Contains(got.output, filepath.Base(g.dir))
			s.group = nil
			if got.err != nil || !inside {
				t.Errorf("got %q, %v", got.output, got.err)
			}
		})
	}
}

// The limits as values of a group's files. The directory stands in for a
// hierarchy with delegated controllers, which few test machines have.
func TestLimitsOfAGroup(t *testing.T) {
	dir := t.TempDir()
	limits := groupLimits(Limits{Pids: 77, MemoryBytes: 5e8, DataBytes: 1, FileBytes: 1})
	want := map[string]string{"pids.max": "77", "memory.max": "500000000", "memory.swap.max": "0"}
	if !maps.Equal(limits, want) {
		t.Errorf("limits %v", limits)
	}
	for controllers, offered := range map[string]bool{"": false, "cpu pids": false, "memory pids io": true} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := offers(dir, limits); got != offered {
			t.Errorf("%q: %t", controllers, got)
		}
	}
	g, err := makeGroup(dir, limits)
	if err != nil || g == nil {
		t.Fatal(err)
	}
	defer g.open.Close()
	for file, value := range want {
		if err := os.Chmod(filepath.Join(g.dir, file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(g.dir, file)); err != nil || string(got) != value {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	for own, parents := range map[string][]string{"/a/b": {"/sys/fs/cgroup/a"}, "/a": {"/sys/fs/cgroup"}, "/": {"/sys/fs/cgroup"}} {
		if got := (hierarchy{mount: "/sys/fs/cgroup", own: own}).parents(); !slices.Equal(got, parents) {
			t.Errorf("%s: %v", own, got)
		}
	}
}
