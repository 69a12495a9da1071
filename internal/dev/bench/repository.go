//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// names are the names of generated files, directories and functions.
var names = [...]string{
	"order", "invoice", "customer", "parcel", "ledger", "ticket", "tariff", "voucher", "depot", "route",
	"driver", "pallet", "return", "refund", "quota", "season", "branch", "carrier", "label", "stock",
}

// generate writes a repository of n source files of 1 to 8 KB, in directories of
// ten, with one commit. The same n gives the same files. It returns their
// paths.
func (b *bench) generate(ctx context.Context, root string, n int) ([]string, error) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var paths []string
	for i := range n {
		path := fmt.Sprintf("src/%s/%s/%s%04d.go", names[i%20], names[i/20%10], names[i%20], i)
		if err := write(root, path, source(random, i, path)); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	for path, text := range map[string]string{".gitignore": "build/\n*.log\n", "README.md": "# Generated\n", "build/out.go": "package out\n", "run.log": "ran\n"} {
		if err := write(root, path, text); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "gc.auto", "0"}, {"add", "-A"}, {"commit", "-q", "-m", "generated"}, {"gc", "-q"}} {
		if _, err := output(b.command(ctx, root, append([]string{"git"}, args...)...)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func write(root, path, text string) error {
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// source is a file that looks like code. Its revision is what conversations
// change.
func source(random *rand.Rand, i int, path string) string {
	text := fmt.Sprintf("// Package %s is generated.\npackage %[1]s\n\n%s\n", names[i/20%10], revision(path, 1))
	for size := 1<<10 + random.IntN(7<<10); len(text) < size; {
		text += fmt.Sprintf("\n// %s%03d is made up.\nfunc %[1]s%03[2]d(a, b int) int {\n\tif a > b*%d {\n\t\treturn a - %d\n\t}\n\treturn %s(a, b+%[3]d)\n}\n",
			names[random.IntN(20)], random.IntN(1000), random.IntN(100), random.IntN(100), names[random.IntN(20)])
	}
	return text
}

func revision(path string, n int) string {
	return fmt.Sprintf("// Revision counts the changes of %s.\nconst Revision = %d", path, n)
}

// fresh sets b.repo to a new copy of the generated repository, with a refreshed index
// and synced to disk, so that measured processes don't wait for writes. Copies are kept
// until the end, because some file systems reuse the space of removed files slowly.
func (b *bench) fresh(ctx context.Context) error {
	b.copies++
	b.repo = filepath.Join(b.dir, fmt.Sprintf("repo%d", b.copies))
	if _, err := output(b.command(ctx, b.dir, "cp", "-a", b.original, b.repo)); err != nil {
		return err
	}
	if _, err := output(b.command(ctx, b.repo, "git", "update-index", "-q", "--refresh")); err != nil {
		return err
	}
	unix.Sync()
	return nil
}
