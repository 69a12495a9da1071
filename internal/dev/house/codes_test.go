package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// docs/troubleshooting.md has the meaning and exit code of every reason code, and states whether
// the job is resumed. It advises to resume only such jobs.
func TestTroubleshootingPageHasEveryReasonCode(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "docs/troubleshooting.md"), "## Jobs that did not pass")
	page, _, _ = strings.Cut(page, "\n## ")
	for _, c := range event.Causes() {
		end := c.Code.End("")
		resumed := map[bool]string{true: " yes |", false: " |"}[end.Resumable()]
		row := fmt.Sprintf("\n| `%s` | %d |%s %s | ", c.Code, c.Exit, resumed, c.Doc)
		_, advice, found := strings.Cut(page, row)
		advice, _, _ = strings.Cut(advice, "\n")
		if !found {
			t.Errorf("docs/troubleshooting.md lacks the row%s", row)
		}
		if strings.Contains(advice, "resume") && !end.Resumable() {
			t.Errorf("%s is not resumed: %s", c.Code, advice)
		}
	}
	if rows := strings.Count(page, "\n| `"); rows != len(event.Causes()) {
		t.Errorf("docs/troubleshooting.md has %d rows, want %d", rows, len(event.Causes()))
	}
}
