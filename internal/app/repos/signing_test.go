package repos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

func signedBy(signs ...tasks.Sign) *tasks.Plan {
	plan := &tasks.Plan{}
	for i, s := range signs {
		plan.Jobs = append(plan.Jobs, tasks.Job{ID: fmt.Sprint(i), Commit: &tasks.Commit{Sign: s}})
	}
	return plan
}

func TestRunHasOneKeyForAllSignatures(t *testing.T) {
	w := world.World{Now: time.Now, Getenv: func(string) string { return "" }}
	unsigned := signedBy(tasks.SignSSH)
	unsigned.Jobs[0].Publish = tasks.PublishPatch // no commit is made
	for name, tt := range map[string]struct {
		plan *tasks.Plan
		want string // "" if no key is needed
		exit event.Exit
	}{
		"no signature":     {signedBy(""), "", event.ExitOK},
		"only a patch":     {unsigned, "", event.ExitOK},
		"a missing key":    {signedBy(tasks.SignSSH, "", tasks.SignSSH), "commit.sign: ", event.ExitAuth},
		"two formats":      {signedBy(tasks.SignSSH, tasks.SignOpenPGP), "must use the same format, not ssh and openpgp", event.ExitUsage},
		"evidence":         {&tasks.Plan{Evidence: &tasks.Evidence{Sign: tasks.SignSSH}}, "evidence.sign: ", event.ExitAuth},
		"evidence and PGP": {&tasks.Plan{Jobs: signedBy(tasks.SignOpenPGP).Jobs, Evidence: &tasks.Evidence{Sign: tasks.SignSSH}}, "can't be combined with commit.sign: openpgp", event.ExitUsage},
	} {
		key, err := Key(t.Context(), w, tt.plan)
		if key != nil || fault.ExitOf(err) != tt.exit || (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
