// Command generate downloads the newest prices and writes the table that package prices embeds: go generate
// ./internal/prices. NPM_REGISTRY replaces the public registry. Neither a build nor a run downloads prices by it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/millhand/millhand/internal/prices/dataset"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	got, err := dataset.Fetch(context.Background(), http.DefaultClient, cmp.Or(os.Getenv("NPM_REGISTRY"), dataset.Registry))
	if err != nil {
		return err
	}
	fmt.Printf("genai-prices %s of %s, %s\n", got.Version, got.Date, got.Integrity)
	return os.WriteFile(os.Args[1], got.Table, 0o644) //nolint:gosec // as any source file
}
