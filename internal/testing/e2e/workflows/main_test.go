// Package workflows tests the GitHub action, and the examples for CI systems, cron and
// systemd by their own instructions.
package workflows

import (
	"os"
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
