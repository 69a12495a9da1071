package remote

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/gitops"
)

// randomText returns text that does not compress below half of its size.
func randomText(size int) string {
	b := make([]byte, size/2)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// TestAFetchTransfersOnlyWhatIsNew counts the bytes that a real server sends.
func TestAFetchTransfersOnlyWhatIsNew(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	large := randomText(200_000)
	for i := range 20 {
		o.Write(fmt.Sprintf("dir%d/file", i), randomText(5_000))
	}
	o.advance("main", "large", large)
	remote := o.overHTTP(nil)
	first := map[int]int64{}
	received := func(depth int) int64 {
		t.Helper()
		o.sent.Store(0)
		git, err := Mirror(t.Context(), filepath.Join(filepath.Dir(o.Root), fmt.Sprint("mirror", depth)), remote, MirrorOptions{Depth: depth}, o.env())
		must(t, err)
		o.At(git.Common).Fsck()
		resolves(t, gitops.New(git), "main", o.at("main"))
		return o.sent.Load()
	}
	for depth := range 2 {
		if first[depth] = received(depth); first[depth] < 100_000 {
			t.Fatalf("at depth %d the first fetch transferred %d bytes only", depth, first[depth])
		}
	}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a line of a large file", func() { o.advance("main", "large", large+"more\n") }},
		{"two commits with a new file", func() { o.advance("main", "dir1/new", "1\n"); o.advance("main", "dir1/new", "2\n") }},
		{"a new branch", func() { o.advance("fresh", "a", "fresh\n") }},
		{"a forced push", func() { o.Run("reset", "-q", "--hard", "HEAD~2"); o.advance("main", "b", "forced\n") }},
		{"a new tag", func() { o.Run("tag", "-a", "-m", "two", "v2"); o.Run("push", "-q", o.bare.Root, "v2") }},
	} {
		change.make()
		for depth := range 2 {
			if n := received(depth); n > first[depth]/20 {
				t.Errorf("at depth %d after %s %d bytes were transferred, %d in the first fetch", depth, change.name, n, first[depth])
			}
		}
	}
}

// TestAMirrorWithoutTheBasesOfAPackIsFetchedAgain: what the server counts on is not here.
func TestAMirrorWithoutTheBasesOfAPackIsFetchedAgain(t *testing.T) {
	o := newOrigin(t)
	large := randomText(20_000)
	o.advance("main", "large", large)
	r := o.mirrorOf(o.remote(), 1)
	dir := r.Git.Common
	blob := o.Run("rev-parse", "HEAD:large")
	m := o.At(dir)
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	must(t, err)
	for _, pack := range packs { // as loose objects, of which one is removed
		in, err := os.Open(pack)
		must(t, err)
		cmd := m.Command("unpack-objects", "-q")
		cmd.Stdin = in
		must(t, os.RemoveAll(strings.TrimSuffix(pack, ".pack")+".idx"))
		must(t, cmd.Run())
		must(t, in.Close())
		must(t, os.Remove(pack))
	}
	must(t, os.Remove(filepath.Join(dir, "objects", blob[:2], blob[2:])))
	must(t, os.WriteFile(filepath.Join(dir, mirrorMark), []byte("depth 1\n"), 0o644)) // which lists no packs
	tip := o.advance("main", "large", large+"more\n")
	resolves(t, o.mirrorOf(o.remote(), 1), "main", tip)
}
