package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/prices/dataset"
)

const refreshTime = 2 * time.Minute

// priceTable returns the newest table of prices on this machine: the built-in one, or the
// one that `millhand models --refresh` has saved.
func priceTable(w World) *prices.Table {
	path := cachedPrices(w)
	if path == "" {
		return prices.BuiltIn()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return prices.BuiltIn() // nothing was saved
	}
	return prices.Newest(string(text))
}

// cachedPrices is the file of the saved table; "" if the user has no directory for it.
// Without one, cacheDir is below the current directory, where a repository could have
// prices of its own.
func cachedPrices(w World) string {
	dir := userCacheDir(w)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "prices.txt")
}

// refreshPrices downloads the dataset of prices, and saves it if it is newer than the table
// in use.
func refreshPrices(ctx context.Context, w World, registry string) error {
	path := cachedPrices(w)
	if path == "" {
		return fail(event.ExitUsage, "save prices: no cache directory: set HOME or MILLHAND_CACHE_DIR")
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	got, err := dataset.Fetch(ctx, &http.Client{Transport: &http.Transport{Proxy: w.Proxy}}, registry)
	if err != nil {
		return failure{event.ExitUnavailable, err}
	}
	fmt.Fprintf(w.Err, "genai-prices %s of %s, %s\n", got.Version, got.Date, got.Integrity)
	if used := priceTable(w); got.Date <= used.Date {
		fmt.Fprintf(w.Err, "not newer than the prices in use (%s of %s)\n", used.Version, used.Date)
		return nil
	}
	if _, err := prices.Parse(string(got.Table)); err != nil {
		return failure{event.ExitUnavailable, err}
	}
	if err := savePrices(path, got.Table); err != nil {
		return fail(event.ExitUsage, "save prices: %w", err)
	}
	fmt.Fprintf(w.Err, "saved in %s\n", path)
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
