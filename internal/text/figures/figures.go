// Package figures formats numbers for people: durations, sizes and counts, the same in logs, reports and errors.
// It formats no amounts of money: package money does.
package figures

import (
	"fmt"
	"strings"
)

// Duration formats milliseconds: 350ms, 4.2s, 1m23s, 2h05m.
func Duration(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%d.%ds", ms/1000, ms%1000/100)
	case ms < 3_600_000:
		return fmt.Sprintf("%dm%02ds", ms/60_000, ms%60_000/1000)
	default:
		return fmt.Sprintf("%dh%02dm", ms/3_600_000, ms%3_600_000/60_000)
	}
}

// Count formats a number with a noun: 1 job, 2 jobs, 2 repositories.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Bytes formats a size in decimal units, as manifests give sizes: 999 B, 1.5 kB, 20.0 MB.
func Bytes[N int64 | uint64](n N) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, prefix := float64(n)/unit, 0
	for size >= unit && prefix < 3 {
		size, prefix = size/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %cB", size, "kMGT"[prefix])
}
