//go:build linux

package main

import "context"

// startUp measures --version against a program that does nothing.
func (b *bench) startUp(ctx context.Context, runs int) ([]row, error) {
	r := row{figure: "`millhand --version`, beside `true`: wall", unit: "ms", goal: 15}
	for i := range runs + 1 {
		for _, variant := range []struct {
			into *series
			args []string
		}{{&r.floor, []string{"true"}}, {&r.millhand, []string{b.millhand, "--version"}}} {
			took, err := b.endpoint.measure(b.command(ctx, b.dir, variant.args...))
			if err != nil {
				return nil, err
			}
			if i > 0 {
				*variant.into = append(*variant.into, millis(took.wall))
			}
		}
	}
	return []row{r}, nil
}
