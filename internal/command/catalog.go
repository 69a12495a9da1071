package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/view"
)

// The JSON form of `millhand models`: what users' scripts read.
type (
	catalogDocument struct {
		Date   string          `json:"date"` // when the prices were written down, as 2026-07
		Models []modelDocument `json:"models"`
	}
	modelDocument struct {
		ID        string        `json:"id"` // as a manifest has it: provider/model
		Provider  string        `json:"provider"`
		Window    *int          `json:"window"`     // tokens of a request and its answer; null if unknown
		MaxOutput *int          `json:"max_output"` // tokens; null if unknown
		Prices    priceDocument `json:"prices"`
		// Tiers hold instead, for the whole of a request whose input is longer.
		Tiers  []tierDocument `json:"tiers"`
		Images bool           `json:"images"`  // whether it sees images
		PDFs   bool           `json:"pdfs"`    // and PDF files
		KeyEnv []string       `json:"key_env"` // variables that may hold the key
		KeySet *string        `json:"key_set"` // the one of these that is set; null for none
	}
	// priceDocument is in USD for a million tokens.
	priceDocument struct {
		Input      money.USD `json:"input"`
		Output     money.USD `json:"output"`
		CacheRead  money.USD `json:"cache_read"`
		CacheWrite money.USD `json:"cache_write"`
	}
	tierDocument struct {
		From int64 `json:"from"` // tokens of input above which it holds
		priceDocument
	}
)

func modelsCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "lists the models whose prices are known, and whether their key is set", ArgsUsage: "[PROVIDER...]",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "provider", Usage: "only models of this provider (repeatable)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: func(c *cli.Context) error {
			wanted := append(c.StringSlice("provider"), c.Args().Slice()...)
			doc, err := catalog(w, wanted)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeJSON(w.Out, doc)
			}
			return modelsTable(w.Out, doc)
		},
	}
}

// catalog lists the models of the providers that are wanted, of all for none.
func catalog(w World, wanted []string) (catalogDocument, error) {
	for i, name := range wanted {
		kind, ok := provider.Lookup(name)
		if !ok {
			return catalogDocument{}, fail(event.ExitUsage, "there is no provider %q; there are: %s", name, strings.Join(provider.Names(), ", "))
		}
		wanted[i] = kind.Name // gemini is another name of one
	}
	doc := catalogDocument{Date: prices.Date, Models: []modelDocument{}}
	for _, id := range prices.Names() {
		if of, _, _ := strings.Cut(id, "/"); len(wanted) == 0 || slices.Contains(wanted, of) {
			doc.Models = append(doc.Models, modelOf(w, id, of))
		}
	}
	for _, of := range wanted {
		if !slices.ContainsFunc(doc.Models, func(m modelDocument) bool { return m.Provider == of }) {
			fmt.Fprintf(w.Err, "no prices of %s's models are built in: give them under prices: in the manifest\n", of)
		}
	}
	return doc, nil
}

func modelOf(w World, id, of string) modelDocument {
	p, _ := prices.Of(id)
	kind, _ := provider.Lookup(of)
	doc := modelDocument{
		ID: id, Provider: of, Window: some(p.Context), MaxOutput: some(p.MaxOutput),
		Prices: priceDocument{p.Input, p.Output, p.CacheRead, p.CacheWrite}, Tiers: []tierDocument{},
		Images: p.Images, PDFs: p.PDFs, KeyEnv: append([]string{}, kind.KeyEnv...),
	}
	for _, t := range p.Tiers {
		at := p.Above(t)
		doc.Tiers = append(doc.Tiers, tierDocument{t.From, priceDocument{at.Input, at.Output, at.CacheRead, at.CacheWrite}})
	}
	for _, name := range kind.KeyEnv {
		if strings.TrimSpace(w.Getenv(name)) != "" {
			doc.KeySet = &name
			break
		}
	}
	return doc
}

func modelsTable(out io.Writer, doc catalogDocument) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\tWINDOW\tMAX OUTPUT\tKEY")
	row := func(name string, p priceDocument, rest string) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, perMillion(p.Input), perMillion(p.Output), perMillion(p.CacheRead), perMillion(p.CacheWrite), rest)
	}
	for _, m := range doc.Models {
		key := strings.Join(m.KeyEnv, " or ") + " is not set"
		if m.KeySet != nil {
			key = *m.KeySet
		}
		row(m.ID, m.Prices, fmt.Sprintf("%s\t%s\t%s", size(m.Window), size(m.MaxOutput), key))
		for _, tier := range m.Tiers {
			row(fmt.Sprintf("  above %d tokens of input", tier.From), tier.priceDocument, "\t\t")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s; prices in USD for a million tokens, of %s\n", view.Plural(len(doc.Models), "model"), doc.Date)
	return err
}

func perMillion(usd money.USD) string { return usd.String() }

func size(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}
