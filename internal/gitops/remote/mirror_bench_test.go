package remote

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// BenchmarkMirror makes a mirror, and brings one up to date that is.
func BenchmarkMirror(b *testing.B) {
	git := gittest.GitProgram(b)
	root := gittest.LargeRepository(b, git)
	for name, program := range map[string]string{"with git": git, "without git": ""} {
		b.Run("new "+name, func(b *testing.B) {
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				_, err := Mirror(b.Context(), filepath.Join(dir, fmt.Sprint("m", i)), Repo{URL: root}, MirrorOptions{}, gitdir.Env{GitProgram: program})
				must(b, err)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "m")
		for b.Loop() {
			_, err := Mirror(b.Context(), dir, Repo{URL: root}, MirrorOptions{}, gitdir.Env{GitProgram: git})
			must(b, err)
		}
	})
}
