package objectdb

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestForgedPacksAreErrors reads objects from packs that git does not write.
func TestForgedPacksAreErrors(t *testing.T) {
	blob := func(size byte, data []byte) forged {
		return forged{plumbing.Hash{1}, append([]byte{3<<4 | size}, data...)}
	}
	huge := []byte{0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f} // a blob of terabytes
	for name, c := range map[string]struct {
		objects []forged
		want    string
	}{
		"cycle of deltas":       {[]forged{named(1, 2), named(2, 1)}, "chain of 4096 deltas"},
		"its own base":          {[]forged{named(1, 1)}, "chain of 4096 deltas"},
		"missing base":          {[]forged{named(1, 9)}, "base 0900000000000000000000000000000000000000 of a delta not found"},
		"base before the pack":  {[]forged{{plumbing.Hash{1}, []byte{6<<4 | 4, 0x7f, 1, 2, 3}}}, "invalid object at offset 12"},
		"delta of distance 0":   {[]forged{{plumbing.Hash{1}, []byte{6<<4 | 4, 0, 1, 2, 3}}}, "invalid object at offset 12"},
		"unknown kind":          {[]forged{{plumbing.Hash{1}, []byte{5<<4 | 4, 0, 1, 2, 3}}}, "invalid object at offset 12"},
		"endless size":          {[]forged{{plumbing.Hash{1}, bytes.Repeat([]byte{0xbf}, 40)}}, "invalid object at offset 12"},
		"no data":               {[]forged{{plumbing.Hash{1}, []byte{0xbf}}}, "invalid object at offset 12"},
		"another content":       {[]forged{blob(5, deflated("hello"))}, "corrupt: the content has the hash b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"},
		"shorter than declared": {[]forged{blob(6, deflated("hello"))}, "invalid compressed data"},
		"longer than declared":  {[]forged{blob(4, deflated("hello"))}, "invalid compressed data"},
		"size of a huge object": {[]forged{{plumbing.Hash{1}, append(huge, deflated("hello")...)}}, "invalid compressed data"},
		"not compressed":        {[]forged{blob(5, []byte("hello"))}, "zlib: invalid header"},
	} {
		t.Run(name, func(t *testing.T) {
			git := t.TempDir()
			forge(t, git, c.objects...)
			o, err := Open(filepath.Join(git, "objects"), nil, nil)
			must(t, err)
			if _, err := o.Read(plumbing.AnyObject, plumbing.Hash{1}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

// TestDamagedPacksAreErrors changes the files of a real pack.
func TestDamagedPacksAreErrors(t *testing.T) {
	set := func(at int, b ...byte) func([]byte) []byte {
		return func(data []byte) []byte { copy(data[at:], b); return data }
	}
	fanout := len(indexHeader)
	for name, c := range map[string]struct {
		end    string
		change func([]byte) []byte
		want   string
	}{
		"empty index":       {".idx", func([]byte) []byte { return nil }, "unexpected EOF"},
		"short index":       {".idx", func(b []byte) []byte { return b[:len(b)-1] }, "index of 3 objects has"},
		"long index":        {".idx", func(b []byte) []byte { return append(b, make([]byte, 25)...) }, "index of 3 objects has"},
		"many objects":      {".idx", set(fanout+255*4, 0xff, 0xff, 0xff, 0xff), "index of 4294967295 objects has"},
		"unsorted fanout":   {".idx", set(fanout, 0xff), "fanout table of the index is not sorted"},
		"version 1":         {".idx", set(0, 0), "not a pack index of version 2"},
		"another pack":      {".idx", func(b []byte) []byte { b[len(b)-40]++; return b }, "index is of another pack"},
		"offset after it":   {".idx", func(b []byte) []byte { return set(int(indexNames)+3*24, bytes.Repeat([]byte{0x7f}, 12)...)(b) }, "invalid object at offset 2139062143"},
		"no 64-bit offsets": {".idx", func(b []byte) []byte { return set(int(indexNames)+3*24, bytes.Repeat([]byte{0xff}, 12)...)(b) }, "no such 64-bit offset"},
		"empty pack":        {".pack", func([]byte) []byte { return nil }, "negative offset"},
		"short pack":        {".pack", func(b []byte) []byte { return b[:len(b)-1] }, "index is of another pack"},
		"pack version":      {".pack", set(7, 9), "not a pack of version 2"},
		"content":           {".pack", func(b []byte) []byte { clear(b[13 : len(b)-20]); return b }, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write("a", "a\n")
			hash := plumbing.NewHash(s.Commit())
			s.Run("repack", "-adq")
			file := packNames(t, s.Root, c.end)[0]
			data, err := os.ReadFile(file)
			must(t, err)
			must(t, os.Remove(file))
			must(t, os.WriteFile(file, c.change(data), 0o644))
			o, err := Open(filepath.Join(s.Root, ".git", "objects"), nil, nil)
			must(t, err)
			if _, err := o.RootTree(hash); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

// FuzzPackEntries reads objects of a pack. No pack may make it panic.
func FuzzPackEntries(f *testing.F) {
	blob := append([]byte{3<<4 | 5}, deflated("hello")...)
	f.Add(blob, named(2, 1).entry)
	f.Add(blob, named(2, 2).entry)
	f.Add(blob, slices.Concat([]byte{6<<4 | 4, byte(len(blob))}, deflated("\x05\x05\x90\x05")))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		git := t.TempDir()
		forge(t, git, forged{plumbing.Hash{1}, one}, forged{plumbing.Hash{2}, two})
		o, err := Open(filepath.Join(git, "objects"), nil, nil)
		must(t, err)
		defer func() { o.stores[0].packs[0].close() }()
		for _, hash := range []plumbing.Hash{{1}, {2}} {
			_, _ = o.Size(hash)
			if _, err := o.Read(plumbing.AnyObject, hash); err == nil {
				t.Error("an object has another hash")
			}
		}
	})
}

// BenchmarkFirstLookup opens a repository with 50,000 objects in a pack and reads a tree. Its time
// and memory must not depend on the number of objects.
func BenchmarkFirstLookup(b *testing.B) {
	git := gittest.GitProgram(b)
	root := b.TempDir()
	gittest.RunGitIn(b, git, root, "init", "-q")
	objects := make([]forged, 50_000)
	for i := range objects {
		data := fmt.Sprint(i)
		name := plumbing.ComputeHash(plumbing.BlobObject, []byte(data))
		objects[i] = forged{name, append([]byte{3<<4 | byte(len(data))}, deflated(data)...)}
	}
	slices.SortFunc(objects, func(a, b forged) int { return bytes.Compare(a.name[:], b.name[:]) })
	forge(b, filepath.Join(root, ".git"), objects...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		o, err := Open(filepath.Join(root, ".git", "objects"), nil, nil)
		must(b, err)
		_, err = o.Blob(objects[i%len(objects)].name)
		must(b, err)
		o.stores[0].packs[0].close()
	}
}
