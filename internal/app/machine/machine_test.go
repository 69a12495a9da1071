package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/world"
)

func TestTemporaryFilesNeedAWritableDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for tmp, want := range map[string]string{
		dir:                           "",
		"relative":                    "not an absolute path",
		filepath.Join(dir, "missing"): "no such file or directory",
		file:                          "not a directory",
	} {
		err := Check(world.World{Getenv: func(name string) string { return map[string]string{"TMPDIR": tmp}[name] }})
		if got := errorText(err); (want == "") != (err == nil) || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", tmp, got, want)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "TMPDIR="+tmp+": ") || !strings.HasSuffix(err.Error(), "; nothing was run")) {
			t.Errorf("%s: %v", tmp, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
