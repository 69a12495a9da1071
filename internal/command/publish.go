package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/pulls/manage"
	"github.com/millhand/millhand/tasks"
)

func publishFlags(o *manage.PublishOptions) []cli.Flag {
	return append(publishedFlags(&o.Options),
		&cli.StringFlag{Name: "publish", Destination: &o.Mode, DefaultText: "from the manifest, else pr", Usage: "Publish as `MODE`: push or pr"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.DryRun, EnvVars: noVariable(), Usage: "Print what would be published"})
}

func parsePublish(o *manage.PublishOptions, args []string) error {
	if m := tasks.PublishMode(o.Mode); o.Mode != "" && !m.Pushes() {
		return fmt.Errorf("--publish %s: must be push or pr", o.Mode)
	}
	return parsePublished(&o.Options, args)
}
