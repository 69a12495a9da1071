package content

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/proc"
)

// A filter gets the content. Its failure names what it printed.
func TestFiltersCleanContent(t *testing.T) {
	dir, tmp := t.TempDir(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	env := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp}
	filters := Filters{Apply: true, Context: t.Context(), Command: &proc.Command{Dir: dir, Env: env}}
	for name, c := range map[string]struct{ command, want, fault string }{
		"converts":   {"tr a-z A-Z", "TEXT\n", ""},
		"in the dir": {"pwd", dir + "\n", ""},
		"fails":      {"echo out; echo bad >&2; echo luck >&2; exit 3", "", "exit code 3: bad luck"},
	} {
		got, err := filters.clean(c.command, []byte("text\n"))
		if string(got) != c.want || (err != nil) != (c.fault != "") || err != nil && err.Error() != c.fault {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	filters.Command.Env = proc.Set(env, "TMPDIR", filepath.Join(tmp, "none"))
	if _, err := filters.clean("cat", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a private directory: %v", err)
	}
	if _, err := (Filters{Apply: true}).clean("cat", nil); err == nil || !strings.Contains(err.Error(), "when the job started") {
		t.Errorf("without a sandbox: %v", err)
	}
}

func TestOutputOfFiltersIsLimited(t *testing.T) {
	var b limitedBuffer
	if n, err := b.Write([]byte("text")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := b.Write(bytes.Repeat([]byte("x"), filterOutput)); n != 0 || err == nil || b.err == nil || b.String() != "text" {
		t.Errorf("too much: %d, %v", n, err)
	}
}
