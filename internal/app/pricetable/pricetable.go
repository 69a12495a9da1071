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
	table := released(path)
	if text, err := os.ReadFile(listedPrices(path)); err == nil {
		table, _ = table.WithListed(string(text)) // without it if it can't be read
	}
	return table
}

// released returns the newer one of the built-in table and the one that is saved at path, if any.
func released(path string) *prices.Table {
	text, _ := os.ReadFile(path) // none may be saved
	return prices.Newest(string(text))
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
// in use; and the second source's list, "" for none, whose failure is only a warning. It is second, because
// a server that does not respond may use all the time.
func Refresh(ctx context.Context, w world.World, registry, source string) error {
	path := cachedPrices(w)
	if path == "" {
		return fault.New(event.ExitUsage, "save prices: no cache directory: set HOME or MILLHAND_CACHE_DIR")
	}
	limited, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{Proxy: w.Proxy}}
	err := refreshReleased(limited, w, client, registry, path)
	if source == "" || limited.Err() != nil {
		return err
	}
	switch failed := refreshListed(limited, w, client, source, path); {
	case ctx.Err() != nil:
		return fault.Wrap(event.ExitUnavailable, context.Cause(ctx))
	case failed != nil:
		fmt.Fprintln(w.Err, printable.Text("warning: "+failed.Error()+"; prices that only this source has are not updated"))
	}
	return err
}

// refreshReleased downloads the dataset of prices and saves it if it is newer.
func refreshReleased(ctx context.Context, w world.World, client *http.Client, registry, path string) error {
	got, err := dataset.Fetch(ctx, client, registry)
	if err != nil {
		return fault.Wrap(event.ExitUnavailable, err)
	}
	fmt.Fprintln(w.Err, printable.Line(fmt.Sprintf("genai-prices %s of %s, %s", got.Version, got.Date, got.Integrity), printable.Width))
	if used := released(path); got.Date <= used.Date {
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

// refreshListed downloads the list of the second source and saves it beside the table at path.
func refreshListed(ctx context.Context, w world.World, client *http.Client, source, path string) error {
	rows, err := dataset.FetchModelsDev(ctx, client, source, w.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	without := released(path)
	table, err := without.WithListed(string(rows))
	if err != nil {
		return err
	}
	if err := savePrices(listedPrices(path), rows); err != nil {
		return fmt.Errorf("save prices: %w", err)
	}
	fmt.Fprintf(w.Err, "%s, %s, prices only from there: %s\n", printable.Line(source, printable.Width), table.Latest(), figures.Count(len(table.Names())-len(without.Names()), "model"))
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
