package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/policies/recorded"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/permission"
)

func policyCommand(w world.World) *cli.Command {
	explained, tested := &policies.ExplainOptions{}, &load.Options{}
	return &cli.Command{
		Name: "policy", Usage: "Explain and test permission rules, suggest a profile, and try rules on saved runs",
		Subcommands: []*cli.Command{
			{
				Name: "explain", Usage: "Print whether a tool call is allowed, and by which rule", ArgsUsage: "TOOL SUBJECT",
				UsageText: "millhand policy explain --profile build bash 'git push'",
				Flags:     flagsOf(explained.Fields("")),
				Action:    act(func(args []string) error { return parseExplain(explained, args) }, checks(func(ctx context.Context) error { return policies.Explain(ctx, w, *explained) })),
			},
			{
				Name: "test", Usage: "Test the policy examples of manifests", ArgsUsage: "[MANIFEST...]",
				Description: "Test the policy examples of manifests.\n" + load.OrUsual,
				UsageText:   "millhand policy test millhand.yaml",
				Action: act(func(args []string) error { return tested.Parse("policy test", args) }, checks(func(ctx context.Context) error {
					return policies.Test(ctx, w, *tested)
				})),
			},
			suggestCommand(w),
			backtestCommand(w),
		},
	}
}

func parseExplain(o *policies.ExplainOptions, args []string) error {
	if len(args) != 2 {
		return errors.New("policy explain requires a tool and its subject: millhand policy explain --profile build bash 'git push'")
	}
	if o.Profile == "" {
		return fmt.Errorf("policy explain requires --profile: %s, or a profile of --manifest", strings.Join(permission.Presets(), ", "))
	}
	o.Tool, o.Subject = args[0], args[1]
	return nil
}

func suggestCommand(w world.World) *cli.Command {
	o := &recorded.Options{}
	return &cli.Command{
		Name: "suggest", Usage: "Print the least profile that allows what saved runs used", ArgsUsage: "RUN...",
		Description: "Prints a profile that allows the calls of the jobs that passed, as the key profiles of a manifest. Comments count the calls of each " +
			"rule, and list what was denied. Rules for risky calls are comments. Nothing is applied.",
		UsageText: "millhand policy suggest .millhand/runs/20260102-030405-1a2b3c4d >suggested.yaml",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "all", Destination: &o.All, EnvVars: noVariable(), Usage: "Include jobs that did not pass"}},
		Action:    act(func(args []string) error { return parseSuggest(o, args) }, func(context.Context) error { return recorded.Suggest(w, *o) }),
	}
}

func backtestCommand(w world.World) *cli.Command {
	o := &recorded.BacktestOptions{}
	return &cli.Command{
		Name: "backtest", Usage: "Decide the calls of saved runs again by other rules", ArgsUsage: "RUN...",
		Description: "Decides every recorded call of runs again, by a profile and the policies that apply, and prints what is denied now and what is newly " +
			"allowed, by rule. Nothing runs, and no model is used. Run it where the runs ran: paths are those of the current directory. Exits with code 1 if a " +
			"call that was denied is or may be allowed.",
		UsageText: "millhand policy backtest --profile build --policy new-policy.yaml .millhand/runs/20260102-030405-1a2b3c4d",
		Flags: append(flagsOf(o.Fields("")),
			&cli.BoolFlag{Name: "accept", Destination: &o.Accept, EnvVars: noVariable(), Usage: "Exit with code 0 although calls are newly allowed"},
			&cli.BoolFlag{Name: "json", Destination: &o.JSON, EnvVars: noVariable(), Usage: "Print every call that is decided otherwise, as JSON"}),
		Action: act(func(args []string) error { return parseBacktest(o, args) }, checks(func(ctx context.Context) error { return recorded.Backtest(ctx, w, *o) })),
	}
}

func parseBacktest(o *recorded.BacktestOptions, args []string) error {
	if o.Profile == "" {
		return fmt.Errorf("policy backtest requires --profile: %s, or a profile of --manifest", strings.Join(permission.Presets(), ", "))
	}
	o.Runs = args
	return requireRuns(args)
}

func parseSuggest(o *recorded.Options, args []string) error {
	o.Runs = args
	return requireRuns(args)
}

func requireRuns(args []string) error {
	if len(args) == 0 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	return nil
}
