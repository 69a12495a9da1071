//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// starts is the number of starts of --version in one round.
const starts = 25

// binary measures the size of the program.
func (b *bench) binary(context.Context, int) ([]row, error) {
	info, err := os.Stat(b.millhand)
	if err != nil {
		return nil, err
	}
	size := row{figure: "program, stripped: size", unit: "MB", millhand: series{float64(info.Size()) / 1e6}}
	return []row{size.atMost(100, "77.6 MB")}, nil
}

// startUp measures --version beside a program that does nothing, and a start of the
// program that is not in the page cache.
func (b *bench) startUp(ctx context.Context, runs int) ([]row, error) {
	wall := row{figure: "`millhand --version`, beside `true`: wall", unit: "ms"}
	least := row{figure: fmt.Sprintf("`millhand --version`, beside `true`: CPU, minimum of %d starts", starts), unit: "ms", candidate: "22 ms"}
	usual := row{figure: fmt.Sprintf("`millhand --version`, beside `true`: CPU, median of %d starts", starts), unit: "ms"}
	cold := row{figure: "`millhand --version`, program not in the page cache: wall", unit: "ms"}
	for i := range runs + 1 {
		ours, floor, err := b.starts(ctx)
		if err != nil {
			return nil, err
		}
		took, dropped, err := b.coldStart(ctx)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		for _, v := range []struct {
			into *row
			of   func(walls, cpus series) float64
		}{
			{&wall, func(walls, _ series) float64 { return walls.median() }},
			{&least, func(_, cpus series) float64 { return slices.Min(cpus) }},
			{&usual, func(_, cpus series) float64 { return cpus.median() }},
		} {
			v.into.millhand = append(v.into.millhand, v.of(ours.walls, ours.cpus))
			v.into.floor = append(v.into.floor, v.of(floor.walls, floor.cpus))
		}
		cold.millhand = append(cold.millhand, millis(took.wall))
		if !dropped {
			cold.figure = "`millhand --version`, page cache of the program could not be dropped: wall"
		}
	}
	return []row{wall, least, usual, cold}, nil
}

// launches are the figures of several starts.
type launches struct{ walls, cpus series }

// starts starts millhand and true alternately.
func (b *bench) starts(ctx context.Context) (millhand, floor launches, err error) {
	for range starts {
		for _, one := range []struct {
			into *launches
			args []string
		}{{&floor, []string{"true"}}, {&millhand, []string{b.millhand, "--version"}}} {
			took, err := b.endpoint.measure(b.command(ctx, b.dir, one.args...))
			if err != nil {
				return millhand, floor, err
			}
			one.into.walls = append(one.into.walls, millis(took.wall))
			one.into.cpus = append(one.into.cpus, millis(took.cpu))
		}
	}
	return millhand, floor, nil
}

// coldStart runs --version from a new copy of the program, and reports whether the copy
// was dropped from the page cache before: some file systems keep files in memory.
func (b *bench) coldStart(ctx context.Context) (took usage, dropped bool, err error) {
	b.copies++
	program := filepath.Join(b.dir, fmt.Sprintf("cold-%d", b.copies))
	if _, err := output(b.command(ctx, b.dir, "cp", b.millhand, program)); err != nil {
		return usage{}, false, err
	}
	if dropped, err = dropCache(program); err != nil {
		return usage{}, false, err
	}
	took, err = b.endpoint.measure(b.command(ctx, b.dir, program, "--version"))
	return took, dropped, err
}

// dropCache writes a file to disk and drops its pages from the page cache. It reports
// whether none is left.
func dropCache(path string) (dropped bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return false, err
	}
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return false, fmt.Errorf("drop the page cache of %s: %w", path, err)
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false, fmt.Errorf("map %s: %w", path, err)
	}
	defer unix.Munmap(mapped) //nolint:errcheck // it is read-only
	return cached(mapped) == 0, nil
}

// cached returns the number of pages of a mapped file that are in memory.
func cached(mapped []byte) int {
	pages := make([]byte, (len(mapped)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		return len(pages) // unknown
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

// manyFiles is the number of files of the large repository.
const manyFiles = 50_000

// large measures the start to the first request on a large repository, of a session that
// changes nothing.
func (b *bench) large(ctx context.Context, runs int) ([]row, error) {
	original := filepath.Join(b.dir, "fifty-thousand")
	if err := os.Mkdir(original, 0o755); err != nil {
		return nil, err
	}
	if _, err := b.generate(ctx, original, manyFiles); err != nil {
		return nil, err
	}
	repo, err := b.cloned(ctx, original)
	if err != nil {
		return nil, err
	}
	text, err := conversation(nil, 0, "")
	if err != nil {
		return nil, err
	}
	s, err := script.Parse(text, "the script of a session without calls")
	if err != nil {
		return nil, err
	}
	w := work{}
	for i := range runs + 1 {
		for _, c := range w.contestants() {
			b.copies++
			b.repo = fmt.Sprintf("%s-%d", repo, b.copies) // for the names of the manifest and the report
			args, err := b.arguments(c, repo)
			if err != nil {
				return nil, err
			}
			server := wiretest.New(s)
			b.endpoint.play(server)
			took, err := b.endpoint.measure(b.command(ctx, repo, args...))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if n := server.Served(); n != 1 {
				return nil, fmt.Errorf("%s: sent %d requests, want 1", c.name, n)
			}
			fmt.Fprintf(os.Stderr, "%d files, round %d of %d, %s: first request after %s\n", manyFiles, i, runs, c.name, took.first.Round(time.Millisecond))
			if i > 0 {
				*c.took = append(*c.took, took)
			}
		}
	}
	first := func(u usage) float64 { return millis(u.first) }
	figure := func(how string, took []usage) row {
		return row{
			figure: fmt.Sprintf("%d,000 files, %s: start to first request", manyFiles/1000, how), unit: "ms",
			millhand: each(took, first), floor: each(w.floor, first),
		}.atMost(40, "")
	}
	return []row{figure("in place, no commit", w.plain), figure("worktree and commit", w.usual)}, nil
}
