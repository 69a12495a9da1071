//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/tools/search"
)

// searched is the number of source files that are searched. The tree also contains
// ignored files.
const searched = 20_000

// repeats is the number of searches per value: a single one is too short to measure.
const repeats = 3

// errNothing is the error of a search without matches, which compares nothing.
var errNothing = errors.New("no matches")

// sought is a search: lines by a pattern, or files by a glob.
type sought struct {
	what, pattern, glob string
}

func searches() []sought {
	return []sought{
		{"grep of a literal", `order123\(`, ""},
		{"grep of an expression with a literal", `func order1\d\d\(`, ""},
		{"grep of an expression with spaces", `\bfunc\s+ticket7\d+\b`, ""},
		{"grep in any case", "(?i)VOUCHER77", ""},
		{"grep of an expression without a literal", `[a-z]+[0-9]7[0-9]\s.*[a-z]+`, ""},
		{"glob by name", "", "*ticket*.go"},
		{"glob by path", "", "src/ticket/**/*25.{go,ts}"},
	}
}

// searching compares grep and glob, in this process and as the tools use them, with an
// rg process.
func (b *bench) searching(ctx context.Context, runs int) (rows []row, err error) {
	root, err := b.searchTree()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	rg, err := exec.LookPath("rg")
	if err != nil {
		rg = ""
	}
	for _, s := range searches() {
		r, err := b.search(ctx, runs, s, search.Scope{Root: root}, rg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.what, err)
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// search measures one search, and rg if installed.
func (b *bench) search(ctx context.Context, runs int, s sought, scope search.Scope, rg string) ([]row, error) {
	wall, cpu := row{figure: s.what + " in 20,000 files, beside rg: wall", unit: "ms"}.timesFloor(1.2, "0.8 to 2.1 ×"), row{figure: s.what + " in 20,000 files, beside rg: CPU", unit: "ms"}
	if rg == "" {
		wall, cpu = row{figure: s.what + " in 20,000 files (no rg to compare): wall", unit: "ms"}, row{figure: s.what + " in 20,000 files (no rg to compare): CPU", unit: "ms"}
	}
	for i := range runs + 1 {
		took, err := own(ctx, s, scope)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			wall.millhand, cpu.millhand = append(wall.millhand, millis(took.wall)), append(cpu.millhand, millis(took.cpu))
		}
		if rg == "" {
			continue
		}
		floor, err := b.plainRipgrep(ctx, s, scope, rg)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			wall.floor, cpu.floor = append(wall.floor, millis(floor.wall)), append(cpu.floor, millis(floor.cpu))
		}
	}
	return []row{wall, cpu}, nil
}

// own returns the mean usage of searches in this process.
func own(ctx context.Context, s sought, scope search.Scope) (usage, error) {
	began, before := time.Now(), cpuTime(unix.RUSAGE_SELF)
	for range repeats {
		total := 0
		if s.glob != "" {
			r, err := search.Glob(ctx, scope, s.glob, 100)
			if err != nil {
				return usage{}, err
			}
			total = r.Total
		} else {
			r, err := search.Grep(ctx, scope, search.Query{Pattern: s.pattern, Limit: 100})
			if err != nil {
				return usage{}, err
			}
			total = r.Total
		}
		if total == 0 {
			return usage{}, errNothing
		}
	}
	return usage{wall: time.Since(began) / repeats, cpu: (cpuTime(unix.RUSAGE_SELF) - before) / repeats}, nil
}

// plainRipgrep returns the mean usage of rg processes.
func (b *bench) plainRipgrep(ctx context.Context, s sought, scope search.Scope, rg string) (usage, error) {
	args := []string{rg, "--no-config", "--no-require-git", "--hidden", "--line-number", "--regexp=" + s.pattern, "./"}
	if s.glob != "" {
		args = []string{rg, "--no-config", "--no-require-git", "--hidden", "--files", "--glob=" + s.glob, "./"}
	}
	var sum usage
	for range repeats {
		took, err := b.endpoint.measure(b.command(ctx, scope.Root.Name(), args...))
		if err != nil {
			return usage{}, err
		}
		sum.wall += took.wall
		sum.cpu += took.cpu
	}
	return usage{wall: sum.wall / repeats, cpu: sum.cpu / repeats}, nil
}

// searchTree writes the files to search, in directories of ten.
func (b *bench) searchTree() (*os.Root, error) {
	dir := filepath.Join(b.dir, "searched")
	random := rand.New(rand.NewPCG(2, searched))
	for i := range searched {
		path := fmt.Sprintf("src/%s/%s/%d/%s%05d.go", names[i%20], names[i/20%20], i/400%5, names[i/2000%20], i)
		if err := write(dir, path, source(random, i, path)); err != nil {
			return nil, err
		}
	}
	for i := range searched / 10 {
		path := fmt.Sprintf("web/node_modules/%s/%d.js", names[i%20], i)
		if err := write(dir, path, source(random, i, path)); err != nil {
			return nil, err
		}
	}
	if err := write(dir, ".gitignore", "node_modules/\n*.log\n"); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}
