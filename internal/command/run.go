package command

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/planned/outlook"
	"github.com/millhand/millhand/internal/app/replay"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// usual are the flags of run that most users need. The others are in a group of their own.
func usual() []string {
	return []string{
		"model", "profile", "var", "publish", "only", "limit", "resume", "max-cost", "jobs", "max-time", "fail-fast",
		"sandbox", "untrusted", "prompt", "verify", "commit", "json", "quiet", "dry-run", "report-dir",
	}
}

// usualFirst returns options with the usual ones first, and the others in the group of advanced ones.
func usualFirst(fields []option.Field) []option.Field {
	var first, others []option.Field
	for _, f := range fields {
		if slices.Contains(usual(), f.Name) {
			first = append(first, f)
			continue
		}
		f.Group = option.Advanced
		others = append(others, f)
	}
	return append(first, others...)
}

// startedWith returns the command line for a process that resumes the run; nil if the
// current directory is unknown.
func startedWith(ctx context.Context, w world.World) *event.Invocation {
	args := lineOf(ctx).own
	if w.Dir == "" || len(args) == 0 {
		return nil
	}
	return &event.Invocation{Dir: w.Dir, Args: args}
}

func runCommand(w world.World) *cli.Command {
	o := invocation.New()
	return &cli.Command{
		Name: "run", Usage: "Run the tasks in one or more manifests, or a prompt", ArgsUsage: "[MANIFEST...] | -p PROMPT",
		Description: "Run the tasks in one or more manifests, or a prompt.\n" + load.OrUsual,
		UsageText: "millhand run millhand.yaml\nmillhand run --jobs 4 --max-cost 5 --report-dir out millhand.yaml\n" +
			"millhand run --only fix-tests --var branch=main millhand.yaml\n" +
			"millhand run -p 'Fix the failing test' --profile build --verify 'go test ./...'\n" +
			"millhand run --resume .millhand/runs/20260102-030405-1a2b3c4d",
		Flags: flagsOf(usualFirst(o.Fields())),
		Action: act(o.Parse, checks(func(ctx context.Context) error {
			ctx, cancel := load.Timed(ctx, o.Plan.MaxTime)
			defer cancel()
			if err := o.UsePrompt(ctx, w); err != nil {
				return load.NotLoaded(ctx, err)
			}
			if o.DryRun {
				return outlook.Show(ctx, w, dry(o))
			}
			o.Invocation = startedWith(ctx, w)
			if o.Replay != "" {
				return replay.Run(ctx, w, *o)
			}
			return runs.Run(ctx, w, *o)
		})),
	}
}

// dry returns the options of "millhand plan" for --dry-run.
func dry(o *invocation.Options) outlook.Options {
	if o.JSON {
		return outlook.Options{Plan: o.Plan, Format: "json", After: o.After}
	}
	return outlook.Options{Plan: o.Plan, Format: "table", After: o.After}
}
