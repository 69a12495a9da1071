package sessions

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/runner"
)

func TestResultOfARevertNamesWhatIsLeftToDo(t *testing.T) {
	var files []string
	for i := range maxReverted + 2 {
		files = append(files, fmt.Sprint("f", i))
	}
	for want, r := range map[string]runner.Reverted{
		"reverted job one to turn 2: 1 file changed\n  a\x60b\n":        {Job: "one", Turn: 2, Files: []string{"a\x60b"}},
		"52 files changed\n  f0\n":                                      {Job: "one", Turn: 1, Files: files},
		"  f49\n  and 2 more\n":                                         {Job: "one", Turn: 1, Files: files},
		"branch m/one: 1111111111, on top of 2222222222\n":              {Job: "one", Branch: "m/one", Commit: strings.Repeat("1", 40), Previous: strings.Repeat("2", 40)},
		"branch m/one is unchanged, at 2222222222\n":                    {Job: "one", Branch: "m/one", Previous: strings.Repeat("2", 40)},
		"replaced files were copied to " + filepath.Join("/r", "old/1"): {Job: "one", Replaced: "old/1"},
		"the branch on origin is not changed until":                     {Job: "one", Pushed: "origin"},
		"to the state before the agent started: 0 files changed\n":      {Job: "one"},
	} {
		var out strings.Builder
		if printReverted(&out, r, "/r"); !strings.Contains(out.String(), want) || !strings.HasSuffix(out.String(), "the verify commands were not run\n") {
			t.Errorf("%s has no %q", &out, want)
		}
	}
}
