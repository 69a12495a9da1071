// Package pricetable has the prices of models that the user has downloaded: it downloads them ([Refresh]) and
// reads the saved ones ([Saved]). The built-in table is package prices's; no run is priced here.
package pricetable

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/prices/dataset"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

const refreshTime = 2 * time.Minute

// Saved returns the newest table of prices on this machine: the built-in one, or the
// one that `millhand models --refresh` has saved.
func Saved(w world.World) *prices.Table {
	path := cachedPrices(w)
	if path == "" {
		return prices.BuiltIn()
	}
	table := prices.BuiltIn()
	if text, err := os.ReadFile(path); err == nil { // else nothing was saved
		table = prices.Newest(string(text))
	}
	if text, err := os.ReadFile(listedPrices(path)); err == nil {
		table, _ = table.WithListed(string(text)) // without it if it can't be read
	}
	return table
}

// listedPrices is the file of the prices that the second source lists, beside the saved table.
func listedPrices(path string) string { return filepath.Join(filepath.Dir(path), "listed-prices.txt") }

// cachedPrices is the file of the saved table; "" if the user has no directory for it.
// Without one, cacheDir is below the current directory, where a repository could have
// prices of its own.
func cachedPrices(w world.World) string {
	dir := w.UserCacheDir()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "prices.txt")
}

// Refresh downloads the dataset of prices, and saves it if it is newer than the table
// in use; and the second source's list, "" for none, whose failure is only a warning.
func Refresh(ctx context.Context, w world.World, registry, source string) error {
	path := cachedPrices(w)
	if path == "" {
		return fault.New(event.ExitUsage, "save prices: no cache directory: set HOME or MILLHAND_CACHE_DIR")
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{Proxy: w.Proxy}}
	if source != "" {
		if err := refreshListed(ctx, w, client, source, listedPrices(path)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("warning: "+err.Error()+"; models that the first source lacks keep no price"))
		}
	}
	got, err := dataset.Fetch(ctx, client, registry)
	if err != nil {
		return fault.Wrap(event.ExitUnavailable, err)
	}
	fmt.Fprintf(w.Err, "genai-prices %s of %s, %s\n", got.Version, got.Date, got.Integrity)
	if used := Saved(w); got.Date <= used.Date {
		fmt.Fprintf(w.Err, "not newer than the prices in use (%s of %s)\n", used.Version, used.Date)
		return nil
	}
	if _, err := prices.Parse(string(got.Table)); err != nil {
		return fault.Wrap(event.ExitUnavailable, err)
	}
	if err := savePrices(path, got.Table); err != nil {
		return fault.New(event.ExitUsage, "save prices: %w", err)
	}
	fmt.Fprintf(w.Err, "saved in %s\n", path)
	return nil
}

// refreshListed downloads the list of the second source and saves it.
func refreshListed(ctx context.Context, w world.World, client *http.Client, source, path string) error {
	rows, err := dataset.FetchModelsDev(ctx, client, source, w.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	table, err := prices.BuiltIn().WithListed(string(rows))
	if err != nil {
		return err
	}
	if err := savePrices(path, rows); err != nil {
		return fmt.Errorf("save prices: %w", err)
	}
	fmt.Fprintf(w.Err, "%s, %s, prices only from there: %s\n", printable.Line(source, printable.Width), table.Latest(), figures.Count(len(table.Names())-len(prices.BuiltIn().Names()), "model"))
	return nil
}

// savePrices replaces the saved table atomically: runs may read it.
func savePrices(path string, table []byte) error {
	dir, err := files.MakeOwn(filepath.Dir(path), 0o700)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.WriteAtomic(filepath.Base(path), func(to io.Writer) error {
		_, err := to.Write(table)
		return err
	})
}
