package command

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/prices/dataset"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

type modelsOptions struct {
	providers []string // empty for all
	json      bool
	refresh   bool
	registry  string
	source    string
}

func modelsCommand(w world.World) *cli.Command {
	o := &modelsOptions{}
	return &cli.Command{
		Name: "models", Usage: "List the models with known prices, and whether their key is set", ArgsUsage: "[PROVIDER...]",
		UsageText: "millhand models\nmillhand models openai --json",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "provider", Value: (*option.Texts)(&o.providers), Usage: "List only the models of `PROVIDER` (repeatable)"},
			jsonFlag(&o.json, "Print one JSON document"),
			&cli.BoolFlag{Name: "refresh", Destination: &o.refresh, Usage: "Download newer prices first; later runs use them"},
			&cli.StringFlag{Name: "registry", Destination: &o.registry, Value: dataset.Registry, Usage: "With --refresh, download from the npm registry at `URL`"},
			&cli.StringFlag{
				Name: "source", Destination: &o.source, Value: dataset.ModelsDev,
				Usage: "With --refresh, add the models that the file of models.dev at `URL` lists and the registry's package lacks; \"\" for none",
			},
		},
		Action: act(o.parse, func(ctx context.Context) error {
			if o.refresh {
				if err := pricetable.Refresh(ctx, w, o.registry, o.source); err != nil {
					return err
				}
			}
			return listModels(w, *o)
		}),
	}
}

func (o *modelsOptions) parse(args []string) error {
	o.providers = append(o.providers, args...)
	return nil
}

func listModels(w world.World, o modelsOptions) error {
	doc, unknown, err := models.NewCatalog(pricetable.Saved(w), o.providers, w.Getenv, w.Now())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	for _, of := range unknown {
		fmt.Fprintf(w.Err, "no built-in prices for %s: add them under prices: in the manifest\n", of)
	}
	if o.json {
		return printable.WriteJSON(w.Out, doc)
	}
	return modelsTable(w.Out, doc)
}

func modelsTable(out io.Writer, doc models.Catalog) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\tWINDOW\tMAX OUTPUT\tKEY")
	row := func(name string, p models.Price, rest string) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, p.Input, p.Output, p.CacheRead, p.CacheWrite, rest)
	}
	for _, m := range doc.Models {
		key := strings.Join(m.KeyEnv, " or ") + " is not set"
		if m.KeySet != nil {
			key = *m.KeySet
		}
		row(m.ID, m.Prices, fmt.Sprintf("%s\t%s\t%s", size(m.Window), size(m.MaxOutput), key))
		for _, tier := range m.Tiers {
			row(fmt.Sprintf("  above %d tokens of input", tier.From), tier.Price, "\t\t")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s; prices in USD per million tokens, as of %s\n", figures.Count(len(doc.Models), "model"), doc.Date)
	return err
}

func size(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}
