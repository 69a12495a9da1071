package gitops

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func makePipe(t *testing.T, name string) {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o644))
}

// numstat writes changes as git diff --numstat -z does.
func numstat(cs *ChangeSet) string {
	var out strings.Builder
	for _, c := range cs.Changes {
		if c.Binary {
			fmt.Fprintf(&out, "-\t-\t%s\x00", c.Path)
			continue
		}
		fmt.Fprintf(&out, "%d\t%d\t%s\x00", c.Added, c.Removed, c.Path)
	}
	return out.String()
}
