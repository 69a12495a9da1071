package trials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/sitetest"
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/tasks"
)

// accounted returns a job whose hunks are accounted for, by two trials at a time.
func accounted(s *sitetest.Stage, lines ...string) tasks.Job {
	spec := s.Job(lines...)
	spec.Ablate = tasks.Ablate{Time: time.Minute, Jobs: 2}
	return spec
}

// openFiles returns what this process has open below a directory of the run, where the system lists it. The
// garbage collector closes packs.
func openFiles(s *sitetest.Stage, dir string) (paths []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, filepath.Join(s.Options.Work, dir)+"/") && !strings.Contains(path, "/objects/pack/") {
			paths = append(paths, path)
		}
	}
	return paths
}

func entry(path string, mode ablation.Mode, data string) ablation.Entry {
	return ablation.Entry{Path: path, Content: ablation.Content{Mode: mode, Data: []byte(data)}}
}

func want[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
