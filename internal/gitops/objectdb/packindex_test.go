package objectdb

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// forged is an object in a forged pack.
type forged struct {
	name  plumbing.Hash
	entry []byte
}

// forge writes a pack and its index into the directory of a repository, the names in order.
func forge(tb testing.TB, git string, objects ...forged) {
	tb.Helper()
	var count [4]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(objects)))
	pack := append([]byte(packHeader), count[:]...)
	idx := []byte(indexHeader)
	var names, offsets []byte
	for _, o := range objects {
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(len(pack)))
		names, pack = append(names, o.name[:]...), append(pack, o.entry...)
	}
	for i := range 256 {
		n := 0
		for _, o := range objects {
			if int(o.name[0]) <= i {
				n++
			}
		}
		idx = binary.BigEndian.AppendUint32(idx, uint32(n))
	}
	sum := make([]byte, hashSize)
	idx = slices.Concat(idx, names, make([]byte, 4*len(objects)), offsets, sum, sum)
	dir := filepath.Join(git, "objects", "pack")
	must(tb, os.MkdirAll(dir, 0o755))
	must(tb, os.WriteFile(filepath.Join(dir, "pack-1.pack"), append(pack, sum...), 0o644))
	must(tb, os.WriteFile(filepath.Join(dir, "pack-1.idx"), idx, 0o644))
}

func deflated(data string) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(data))
	_ = z.Close()
	return b.Bytes()
}

// named is an entry of a delta whose base has a name.
func named(name, base byte) forged {
	data := deflated("\x05\x05\x90\x05") // copies five bytes
	return forged{plumbing.Hash{name}, slices.Concat([]byte{7<<4 | 4, base}, make([]byte, 19), data)}
}

// FuzzPackIndex looks objects up in an index. No index may make it panic.
func FuzzPackIndex(f *testing.F) {
	git := f.TempDir()
	forge(f, git, named(1, 2), named(2, 1), named(2, 3))
	idx, err := os.ReadFile(filepath.Join(git, "objects/pack/pack-1.idx"))
	must(f, err)
	f.Add(idx, []byte{2})
	f.Add(append(idx, 1, 2, 3, 4, 5, 6, 7, 8), []byte{1})
	f.Fuzz(func(t *testing.T, idx, prefix []byte) {
		p := &pack{name: filepath.Join(t.TempDir(), "pack")}
		must(t, os.WriteFile(p.name+".idx", idx, 0o644))
		defer p.close()
		if p.openIndex() != nil {
			return
		}
		set := map[plumbing.Hash]bool{}
		if len(prefix) > 0 && p.withPrefix(prefix, set) != nil {
			t.Error("the index has no such range")
		}
		for name := range set {
			_, _ = p.find(name)
		}
	})
}
