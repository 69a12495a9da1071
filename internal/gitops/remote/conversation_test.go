package remote

import (
	"bytes"
	"crypto/sha1" // git's checksums
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// canned is a link that says what it was given.
type canned struct{ greets, responses []byte }

func (c canned) greeting() (io.Reader, error) { return bytes.NewReader(c.greets), nil }
func (c canned) exchange(func() io.Reader, int64) (io.Reader, error) {
	return bytes.NewReader(c.responses), nil
}
func (c canned) ask([]byte) (io.Reader, error) { return bytes.NewReader(c.responses), nil }
func (c canned) messages() string              { return "" }
func (c canned) close()                        {}

func FuzzConversation(f *testing.F) {
	o1, o2 := strings.Repeat("1", 40), strings.Repeat("2", 40)
	f.Add([]byte("003f"+o1+" refs/heads/main\x00side-band-64k symref=HEAD:refs/heads/main\n0000"), []byte("0008NAK\n0024\x01PACK"))
	f.Add([]byte("001e# service=git-upload-pack\n00000045"+o1+" HEAD\x00object-format=sha1\n003d"+o2+" refs/tags/v1^{}\n0000"), []byte("0031ACK "+o1+"\n"))
	f.Add([]byte("0000"), []byte("000eunpack ok\n0019ok refs/heads/main\n0000"))
	f.Add([]byte("0015ERR access denied\n"), []byte("0009\x02hi\n\n0000"))
	f.Add([]byte("000eversion 2\n0012fetch=shallow\n0000"), []byte("0034"+o1+" HEAD symref-target:refs/heads/main\n0000"))
	f.Add([]byte("001e# service=git-upload-pack\n0000000eversion 2\n0017object-format=sha1\n0000"), []byte("0011shallow-info\n0035shallow "+o1+"\n0001000dpackfile\n0009\x01PACK0000"))
	f.Fuzz(func(t *testing.T, greets, responses []byte) {
		c := &conversation{transport: canned{greets, responses}, refs: packp.NewAdvRefs()}
		if err := c.readAdvertisement(); err != nil {
			if c.explain(err) == nil {
				t.Error("an error was lost")
			}
			return
		}
		c.able = c.refs.Capabilities
		has := c.advertised()
		for name := range has.refs {
			if gitdir.ValidBranch(strings.TrimPrefix(strings.TrimPrefix(name, gitdir.BranchPrefix), gitdir.TagPrefix)) != nil {
				t.Errorf("%q is accepted", name)
			}
		}
		if has.head != "" && has.refs[has.head].IsZero() && has.at != has.refs[has.head] {
			t.Errorf("HEAD is at %s", has.at)
		}
		_, _ = c.fetch(t.Context(), emptyStore(t), request{want: []plumbing.Hash{plumbing.NewHash(o1)}})
		_ = c.readStatus(bytes.NewReader(responses))
	})
}

// emptyStore returns the objects of a new repository.
func emptyStore(t *testing.T) *objectdb.Objects {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"objects", "refs"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	git, err := gitdir.OpenAt(dir, gitdir.Env{})
	must(t, err)
	return git.Objects
}

func FuzzStorePack(f *testing.F) {
	var empty bytes.Buffer
	if err := writePack(f.Context(), &empty, &objectdb.Objects{}, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(empty.Bytes()[:12])
	f.Add([]byte("PACK\x00\x00\x00\x02\xe9\xe9\xe9\xe9\xe9"))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31x\x9c\x03\x00\x00\x00\x00\x01"))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x02\xb0\x01x\x9c\x4b\x04\x00\x00\x62\x00\x62\x61\x01"))
	base := plumbing.ComputeHash(plumbing.BlobObject, nil)
	f.Add(slices.Concat([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x75"), base[:], []byte("x\x9cc`b\xca\xc8\x04\x00\x01L\x00\xd6")))
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha1.Sum(data)
		into := emptyStore(t)
		at := filepath.Join(into.Dir, base.String()[:2])
		must(t, os.Mkdir(at, 0o755))
		must(t, os.WriteFile(filepath.Join(at, base.String()[2:]), []byte("x\x9cK\xca\xc9OR0`\x00\x00\x09\xb0\x01\xf0"), 0o444))
		err := storePack(t.Context(), into, io.MultiReader(bytes.NewReader(data), bytes.NewReader(sum[:])))
		entries, readErr := os.ReadDir(filepath.Join(into.Dir, "pack"))
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err != nil && len(entries) > 0 {
			t.Errorf("%v, but something is left: %v", err, entries)
		}
	})
}
