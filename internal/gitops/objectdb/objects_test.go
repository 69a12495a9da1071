package objectdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// versions commits versions of files, of which git makes deltas, and a tag.
func versions(s *gittest.Sandbox, n int) {
	for i := range n {
		text := strings.Repeat(fmt.Sprintf("line %d\n", i), 20)
		s.Write("a", text, "d/b", strings.Repeat("same\n", 10000)+text, "empty", "", fmt.Sprint("e/", i), text)
		s.Commit()
	}
	s.Run("tag", "-a", "-m", "tag", fmt.Sprint("v", n))
}

// manyBlobs imports so many blobs that the names with the same first byte are searched in steps.
func manyBlobs(s *gittest.Sandbox) {
	var in bytes.Buffer
	for i := range 20_000 {
		text := fmt.Sprint(i)
		fmt.Fprintf(&in, "blob\ndata %d\n%s\n", len(text), text)
	}
	cmd := s.Command("fast-import", "--quiet")
	cmd.Stdin = &in
	must(s.T, cmd.Run())
}

func packNames(tb testing.TB, root, end string) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(root, ".git/objects/pack/*"+end))
	must(tb, err)
	return names
}

// reindex indexes the one pack again.
func reindex(s *gittest.Sandbox, version string) {
	s.T.Helper()
	s.Run("repack", "-adq")
	must(s.T, os.Remove(packNames(s.T, s.Root, ".idx")[0]))
	s.Run("index-pack", "--index-version="+version, packNames(s.T, s.Root, ".pack")[0])
}

// TestObjectsMatchGit compares all objects with those that git reads.
func TestObjectsMatchGit(t *testing.T) {
	for name, prepare := range map[string]func(s *gittest.Sandbox){
		"loose":      func(s *gittest.Sandbox) { versions(s, 3) },
		"packed":     func(s *gittest.Sandbox) { versions(s, 10); s.Run("gc", "-q") },
		"aggressive": func(s *gittest.Sandbox) { versions(s, 60); s.Run("gc", "-q", "--aggressive") },
		"named bases": func(s *gittest.Sandbox) {
			versions(s, 10)
			s.Run("-c", "repack.useDeltaBaseOffset=false", "repack", "-adqf")
		},
		"large offsets": func(s *gittest.Sandbox) { versions(s, 5); reindex(s, "2,0x100") },
		"many":          manyBlobs,
		"many packs": func(s *gittest.Sandbox) {
			for i := range maxOpenPacks + 4 {
				s.Write("a", fmt.Sprint(i))
				s.Commit()
				s.Run("repack", "-dq")
			}
			versions(s, 2) // loose ones too
		},
		"alternates": func(s *gittest.Sandbox) {
			other := s.At(filepath.Join(s.Home, "other"))
			must(s.T, os.MkdirAll(other.Root, 0o755))
			other.Run("init", "-q")
			versions(other, 5)
			other.Run("gc", "-q")
			s.Write(".git/objects/info/alternates", other.Root+"/.git/objects\n")
			versions(s, 7)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "many" || name == "aggressive") {
				t.Skip("reads thousands of objects, one after another")
			}
			s := gittest.NewSandbox(t)
			prepare(s)
			compareObjects(t, s)
		})
	}
}

func compareObjects(t *testing.T, s *gittest.Sandbox) {
	t.Helper()
	o, err := Open(filepath.Join(s.Root, ".git", "objects"), nil, nil)
	must(t, err)
	out := s.Run("cat-file", "--batch-all-objects", "--batch", "--unordered") + "\n"
	for n := 0; out != ""; n++ {
		var name, kind string
		var size int
		header, rest, _ := strings.Cut(out, "\n")
		_, err := fmt.Sscan(header, &name, &kind, &size)
		must(t, err)
		want := rest[:size]
		out = rest[size+1:]

		hash := plumbing.NewHash(name)
		if n%2 == 0 { // also of objects in the cache
			_, err := o.Read(plumbing.AnyObject, hash)
			must(t, err)
		}
		got, err := o.Size(hash)
		must(t, err)
		if got != int64(size) {
			t.Errorf("size of %s: %d, want %d", name, got, size)
		}
		obj, err := o.Read(plumbing.AnyObject, hash)
		must(t, err)
		if data := obj.(*stored).data; obj.Hash() != hash || obj.Type().String() != kind || string(data) != want {
			t.Errorf("%s %s: %q, want %s %q", obj.Type(), name, data, kind, want)
		}
		other := hash
		other[19]++
		if _, err := o.Size(other); !errors.Is(err, plumbing.ErrObjectNotFound) {
			t.Errorf("size of %s: %v", other, err)
		}
		some, err := o.WithPrefix(hash[:3])
		must(t, err)
		if !slices.Contains(some, hash) || n%100 == 0 && !slices.Contains(mustPrefix(t, o, hash[:1]), hash) {
			t.Errorf("%s is not among those with the same prefix", name)
		}
	}
	for _, store := range o.stores {
		open := 0
		for _, p := range store.packs {
			if p.idx != nil || p.file != nil {
				open++
			}
		}
		if open > maxOpenPacks {
			t.Errorf("%d packs are open", open)
		}
	}
}

func mustPrefix(t *testing.T, o *Objects, prefix []byte) []plumbing.Hash {
	t.Helper()
	all, err := o.WithPrefix(prefix)
	must(t, err)
	for _, h := range all {
		if !bytes.HasPrefix(h[:], prefix) {
			t.Errorf("%s has not the prefix %x", h, prefix)
		}
	}
	return all
}

// TestConcurrentReadsOfManyPacks reads from more packs than stay open.
func TestConcurrentReadsOfManyPacks(t *testing.T) {
	s := gittest.NewSandbox(t)
	var blobs []plumbing.Hash
	for i := range maxOpenPacks + 4 {
		s.Write("a", fmt.Sprint(i))
		s.Commit()
		blobs = append(blobs, plumbing.NewHash(s.Run("rev-parse", "HEAD:a")))
		s.Run("repack", "-dq")
	}
	o, err := Open(filepath.Join(s.Root, ".git", "objects"), nil, nil)
	must(t, err)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := range 20 * len(blobs) {
				i := n * 7 % len(blobs)
				o.stores[0].decoder.forget()
				if data, err := o.Blob(blobs[i]); err != nil || string(data) != fmt.Sprint(i) {
					t.Errorf("%q, %v; want %d", data, err, i)
				}
			}
		})
	}
	readers.Wait()
}

// forget empties the cache.
func (d *decoder) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.recent.Len() > 0 {
		d.remove(d.recent.Back())
	}
}
