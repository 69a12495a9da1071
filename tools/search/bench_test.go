package search

import (
	"os"
	"os/exec"
	"testing"
)

// The searches that agents make most, on a tree of 20,000 files, and next to
// each the same by ripgrep, the time to start it included.
func BenchmarkSearch(b *testing.B) {
	dir := growTree(b, 20_000)
	scope := Scope{Root: openRoot(b, dir)}
	for _, c := range []struct{ name, pattern string }{
		{"literal", "NewStreaming"},
		{"literal nowhere", "nowhereToBeFound"},
		{"regexp with literal", `func \w+Context\(`},
		{"regexp with spaces", `\bctx\s+context\.Context\b`},
		{"any case", "(?i)deprecated"},
		{"alternatives", "hunter2|Mutex|useTask"},
		{"no literal", `[0-9]+\.[0-9]+\.[0-9]+`},
	} {
		b.Run("grep/"+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Grep(b.Context(), scope, Query{Pattern: c.pattern, Limit: 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("grep/"+c.name+"/rg", func(b *testing.B) { benchmarkRipgrep(b, dir, "--count", "--regexp", c.pattern) })
	}
	for _, pattern := range []string{"*.go", "pkg1/**/*_test.{go,ts}"} {
		b.Run("glob/"+pattern, func(b *testing.B) {
			for b.Loop() {
				if _, err := Glob(b.Context(), scope, pattern, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("glob/"+pattern+"/rg", func(b *testing.B) { benchmarkRipgrep(b, dir, "--files", "--glob", pattern) })
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := List(b.Context(), scope, ListQuery{Limit: 100}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchmarkRipgrep(b *testing.B, dir string, args ...string) {
	b.Helper()
	needRipgrep(b)
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "rg", append([]string{"--no-config", "--hidden", "--no-require-git", "--no-messages"}, args...)...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			b.Fatal(err)
		}
	}
}
