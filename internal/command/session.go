package command

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/world"
)

func sessionCommand(w world.World) *cli.Command {
	list, show, resume := &shown.SessionOptions{}, &shown.SessionOptions{}, invocation.New()
	c := &cli.Command{
		Name: "session", Usage: "Manage the sessions of a saved run",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List the sessions of a run", ArgsUsage: "RUN", UsageText: "millhand session list 20260102-030405-1a2b3c4d",
				Flags:  []cli.Flag{jsonFlag(&list.JSON, "Print one JSON document")},
				Action: act(oneArgument(&list.Run, "missing RUN argument: the id or the report directory of a run"), func(context.Context) error { return shown.Sessions(w, *list) }),
			},
			{
				Name: "show", Usage: "Print the conversation of a job, or of a subagent (JOB.task-N)", ArgsUsage: "RUN [JOB]",
				UsageText: "millhand session show 20260102-030405-1a2b3c4d fix-tests\nmillhand session show .millhand/runs/20260102-030405-1a2b3c4d --markdown > session.md",
				Flags: []cli.Flag{
					jsonFlag(&show.JSON, "Print one JSON document, with everything"),
					&cli.BoolFlag{Name: "markdown", Destination: &show.Markdown, EnvVars: noVariable(), Usage: "Print Markdown"},
				},
				Action: act(show.Parse, func(ctx context.Context) error { return shown.Session(ctx, w, *show) }),
			},
			{
				Name: "resume", Usage: "Continue the session of a job that has ended with another prompt", ArgsUsage: "RUN [JOB]",
				UsageText: "millhand session resume 20260102-030405-1a2b3c4d fix-tests --prompt \"Add a test for it.\"",
				Flags: append([]cli.Flag{
					&cli.StringFlag{Name: "prompt", Destination: &resume.FollowUp.Prompt, EnvVars: noVariable(), Usage: "Continue with `PROMPT`"},
				}, flagsOf(resume.LogFields())...),
				Action: act(func(args []string) error { return parseFollowUp(resume, args) }, func(ctx context.Context) error { return resumeSession(ctx, w, *resume) }),
			},
		},
	}
	c.Subcommands = append(c.Subcommands, forkCommand(w), revertCommand(w))
	return c
}

// parseFollowUp reads the arguments of "millhand session resume".
func parseFollowUp(o *invocation.Options, args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case strings.TrimSpace(o.FollowUp.Prompt) == "":
		return errors.New("missing --prompt PROMPT")
	}
	if o.Resume = args[0]; len(args) == 2 {
		o.FollowUp.Job = args[1]
	}
	if o.Verbose {
		o.Log.Level = "debug"
	}
	return nil
}

// resumeSession continues a job of a run with another prompt.
func resumeSession(ctx context.Context, w world.World, given invocation.Options) error {
	o := *invocation.New()
	o.Resume, o.FollowUp, o.Log, o.JSON = given.Resume, given.FollowUp, given.Log, given.JSON
	return runs.Run(ctx, w, o)
}
