package site

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// A filter gets the content and nothing of the context: changes are collected whatever happens. Its failure names what
// it printed.
func TestFiltersCleanContent(t *testing.T) {
	s := setUp(t)
	p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	filters := p.Sandboxes.filters(ctx)
	for name, c := range map[string]struct{ command, want, fault string }{
		"converts":   {"tr a-z A-Z", "TEXT\n", ""},
		"in the dir": {"pwd", p.Space.Dir() + "\n", ""},
		"fails":      {"echo out; echo bad >&2; echo luck >&2; exit 3", "", "exit code 3: bad luck"},
	} {
		got, err := filters.Clean(c.command, "x", []byte("text\n"))
		if string(got) != c.want || (err != nil) != (c.fault != "") || err != nil && err.Error() != c.fault {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if left, err := os.ReadDir(proc.Value(p.Sandboxes.Own.Env, "TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	p.Sandboxes.Own.Env = proc.Set(p.Sandboxes.Own.Env, "TMPDIR", filepath.Join(s.opts.Work, "none"))
	if _, err := filters.Clean("cat", "x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a private directory: %v", err)
	}
	if filters.Pushed {
		t.Error("a job that publishes nothing is pushed")
	}
	if p.job.Spec.Publish = tasks.PublishPush; !p.Sandboxes.filters(t.Context()).Pushed {
		t.Error("a job that is pushed is not")
	}
}

// A filter never runs outside of the job's sandbox.
func TestFiltersNeedTheSandbox(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	p, end := s.opened(t.Context(), s.begin(&tasks.Plan{}, s.job("a")))
	if end != nil || p.Settled() != nil {
		t.Fatalf("%+v, %+v", end, p.Settled())
	}
	if _, err := p.Sandboxes.clean(t.Context(), "cat", nil); err == nil || !strings.Contains(err.Error(), "create a private directory") {
		t.Errorf("%v", err)
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
