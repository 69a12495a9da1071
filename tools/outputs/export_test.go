package outputs

import (
	"testing"

	"github.com/millhand/millhand/internal/files"
)

// outputsIn opens a directory, and returns "outputs" below it.
func outputsIn(t *testing.T, dir string) *files.Dir {
	t.Helper()
	d, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d.Sub("outputs")
}
