package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/prices"
)

// ModelsDev is the public file of models.dev, which lists new models within days.
const ModelsDev = "https://models.dev/api.json"

// listed is a model in the file of models.dev. Costs are in USD per million tokens.
type listed struct {
	Cost  *listedCost `json:"cost"`
	Limit struct {
		Context int64 `json:"context"`
		Output  int64 `json:"output"`
	} `json:"limit"`
	Modalities struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
}

type listedCost struct {
	listedRates
	Over200k *listedRates `json:"context_over_200k"`
	Tiers    []struct {
		listedRates
		Tier struct {
			Type string `json:"type"`
			Size int64  `json:"size"`
		} `json:"tier"`
	} `json:"tiers"`
}

type listedRates struct {
	Input      json.Number `json:"input"`
	Output     json.Number `json:"output"`
	CacheRead  json.Number `json:"cache_read"`
	CacheWrite json.Number `json:"cache_write"`
}

func (r listedRates) text() string {
	return strings.Join([]string{r.Input.String(), r.Output.String(), r.CacheRead.String(), r.CacheWrite.String(), ""}, ",")
}

func (r listedRates) free() bool {
	return prices.IsZero(r.Input.String()) && prices.IsZero(r.Output.String())
}

// listers returns the names of providers by those in the file of models.dev.
func listers() map[string]string { return named(func(k kinds.Kind) string { return k.ModelsDev }) }

// FetchModelsDev downloads the file of models.dev and converts it (see [FromModelsDev]).
func FetchModelsDev(ctx context.Context, client *http.Client, url, date string) ([]byte, error) {
	data, err := get(ctx, client, url)
	if err != nil {
		return nil, err
	}
	text, err := FromModelsDev(data, date)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	return text, nil
}

// FromModelsDev converts the file of models.dev, as it was at a date (2006-01-02), to rows with facts and
// prices (see [prices.WithListed]). Models that respond with more than text are left out, and
// so are those without a cost: of plans, or unknown.
func FromModelsDev(data []byte, date string) ([]byte, error) {
	var doc map[string]struct {
		Models map[string]json.RawMessage `json:"models"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	var rows []string
	for id, provider := range listers() {
		for name, raw := range doc[id].Models {
			var m listed
			if json.Unmarshal(raw, &m) != nil || !nameOf.MatchString(name) {
				continue // of a form that is not known yet
			}
			if row, ok := m.row(provider + "/" + strings.ToLower(name)); ok {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("it has no model with a price: is it %s?", ModelsDev)
	}
	slices.Sort(rows)
	return []byte("models.dev " + date + "\n" + strings.Join(rows, "\n") + "\n"), nil
}

// row returns the row of a model.
func (m listed) row(id string) (row string, ok bool) {
	c := m.Cost
	switch {
	case c == nil || c.Input == "" || c.Output == "" || slices.ContainsFunc(m.Modalities.Output, func(s string) bool { return s != "text" }):
		return "", false
	case c.free() && !strings.HasSuffix(id, ":free"):
		return "", false // paid by other means
	}
	tiers := map[int64]string{}
	if c.Over200k != nil {
		tiers[200_000] = c.Over200k.text()
	}
	for _, t := range c.Tiers {
		if t.Tier.Type != "context" {
			return "", false
		}
		tiers[t.Tier.Size] = t.text()
	}
	var text strings.Builder
	text.WriteString(c.text())
	for _, from := range slices.Sorted(maps.Keys(tiers)) {
		fmt.Fprintf(&text, ";%d:%s", from, tiers[from])
	}
	sees := strings.Join(slices.DeleteFunc([]string{"image", "pdf"}, func(s string) bool { return !slices.Contains(m.Modalities.Input, s) }), ",")
	if sees == "" {
		sees = "text"
	}
	row = strings.Join([]string{id, strconv.FormatInt(m.Limit.Context, 10), strconv.FormatInt(m.Limit.Output, 10), sees, text.String()}, " ")
	return row, prices.Valid(row)
}
