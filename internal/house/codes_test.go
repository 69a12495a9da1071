package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// docs/troubleshooting.md has the meaning and exit code of every reason code.
func TestTroubleshootingPage(t *testing.T) {
	page := read(t, "docs/troubleshooting.md")
	for _, c := range event.Causes() {
		if row := fmt.Sprintf("| `%s` | %d | %s | ", c.Code, c.Exit, c.Doc); !strings.Contains(page, row) {
			t.Errorf("docs/troubleshooting.md lacks the row\n%s", row)
		}
	}
	if rows := strings.Count(page, "\n| `"); rows != len(event.Causes()) {
		t.Errorf("docs/troubleshooting.md has %d rows, want %d", rows, len(event.Causes()))
	}
}
