//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
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
	return []row{size.atMost(57, "77.6 MB")}, nil
}

// startUp measures --version beside a program that does nothing.
func (b *bench) startUp(ctx context.Context, runs int) ([]row, error) {
	wall := row{figure: "`millhand --version`, beside `true`: wall", unit: "ms", goal: 15}
	least := row{figure: fmt.Sprintf("`millhand --version`, beside `true`: CPU, minimum of %d starts", starts), unit: "ms"}.atMost(8, "22 ms")
	usual := row{figure: fmt.Sprintf("`millhand --version`, beside `true`: CPU, median of %d starts", starts), unit: "ms"}
	for i := range runs + 1 {
		ours, floor, err := b.starts(ctx)
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
	}
	return []row{wall, least, usual}, nil
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
