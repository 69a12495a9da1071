package command

import (
	"context"
	"errors"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/sessions"
	"github.com/millhand/millhand/internal/app/world"
)

func revertCommand(w world.World) *cli.Command {
	o := &sessions.RevertOptions{}
	return &cli.Command{
		Name: "revert", Usage: "Give the branch or the working tree of a job the state after an earlier turn", ArgsUsage: "RUN [JOB]",
		UsageText: "millhand session revert 20260102-030405-1a2b3c4d fix-tests --turn 3\nmillhand session revert 20260102-030405-1a2b3c4d --turn 0",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "turn", Value: option.Of(&o.Turn, turnNumber), EnvVars: noVariable(), Usage: "Revert to the files after turn `N`, 0 for those before the agent started"},
			jsonFlag(&o.JSON, "Print one JSON document"),
		},
		Action: act(o.Parse, func(ctx context.Context) error { return sessions.Revert(ctx, w, *o) }),
	}
}

// turnNumber parses the number of a turn.
func turnNumber(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, errors.New("must be 0 or the number of a turn")
	}
	return &n, nil
}
