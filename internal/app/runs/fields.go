package runs

import (
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
)

// SandboxField is the option --sandbox of commands that run confined commands.
func SandboxField(to *string, group string) option.Field {
	return option.Field{Name: "sandbox", Group: group, To: to, Usage: "Confine commands with `MODE`: auto, require, external or off"}
}

// FailOnField is the option --fail-on of commands that exit as a run does.
func FailOnField(to *event.FailOn, group string) option.Field {
	return option.Field{
		Name: "fail-on", Group: group, To: option.Of(to, event.ParseFailOn),
		Usage: "Exit with an error only on `FAILURES`: any, all, verify, policy, environment, baseline, never or N% of the jobs (policy stops, credentials and internal errors always count)",
	}
}
