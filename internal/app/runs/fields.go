package runs

import (
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
)

// FailOnField is the option --fail-on of commands that exit as a run does.
func FailOnField(to *event.FailOn, group string) option.Field {
	return option.Field{
		Name: "fail-on", Group: group, To: option.Of(to, event.ParseFailOn),
		Usage: "Exit with an error only on `FAILURES`: any, all, verify, policy, environment, baseline, never or N% of the jobs (policy stops, credentials and internal errors always count)",
	}
}
