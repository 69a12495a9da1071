package remote

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// packets encodes lines as packets. A line of four digits is a packet without content.
func packets(lines ...string) []byte {
	var out strings.Builder
	e := pktline.NewEncoder(&out)
	for _, line := range lines {
		if len(line) == len(delimiter) {
			out.WriteString(line)
		} else if err := e.EncodeString(line); err != nil {
			panic(err)
		}
	}
	return []byte(out.String())
}

func TestAdvertisementsOfVersion2(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	var unsupported *gitdir.UnsupportedError
	var said *pktline.ErrorLine
	for _, c := range []struct {
		name           string
		greets, listed []byte
		want           advertised
		fails          any // target of errors.As; nil for success
	}{
		{
			"with a default branch", packets("version 2\n", "agent=git/2.39\n", "ls-refs=unborn\n", "fetch=shallow filter\n", "0000"),
			packets(one+" HEAD symref-target:refs/heads/main\n", one+" refs/heads/main\n", two+" refs/tags/v1 peeled:"+one+"\n", "0000"),
			advertised{
				refs: map[string]plumbing.Hash{"refs/heads/main": plumbing.NewHash(one), "refs/tags/v1": plumbing.NewHash(two)},
				head: "refs/heads/main", at: plumbing.NewHash(one),
			},
			nil,
		},
		{
			"after the service", packets("# service=git-upload-pack\n", "0000", "version 2\n", "object-format=sha1\n", "0000"),
			packets(two+" refs/heads/x\n", "0000"),
			advertised{refs: map[string]plumbing.Hash{"refs/heads/x": plumbing.NewHash(two)}},
			nil,
		},
		{"without commits", packets("version 2\n", "0000"), packets("0000"), advertised{refs: map[string]plumbing.Hash{}}, nil},
		{"of other hashes", packets("version 2\n", "object-format=sha256\n", "0000"), nil, advertised{}, &unsupported},
		{"with an error", packets("version 2\n", "0000"), packets("ERR access denied\n"), advertised{}, &said},
		{"that is cut off", packets("version 2\n"), nil, advertised{}, new(error)},
		{"with a list that is cut off", packets("version 2\n", "0000"), packets(two + " refs/heads/x\n"), advertised{}, new(error)},
		{"with an invalid line", packets("version 2\n", "0000"), packets("x refs/heads/x\n", "0000"), advertised{}, new(error)},
	} {
		t.Run(c.name, func(t *testing.T) {
			conv := &conversation{transport: canned{c.greets, c.listed}, refs: packp.NewAdvRefs()}
			err := conv.readAdvertisement()
			if (err == nil) != (c.fails == nil) || err != nil && !errors.As(err, c.fails) {
				t.Fatalf("%v", err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.want, conv.advertised(), cmp.AllowUnexported(advertised{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestServersWithoutVersion2 get requests of version 0 only.
func TestServersWithoutVersion2(t *testing.T) {
	o := newOrigin(t)
	asked := 0
	remote := o.overHTTP(func(r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Git-Protocol") != "" {
			t.Errorf("a request of protocol %s", r.Header.Get("Git-Protocol"))
		}
		if r.Header.Get("Git-Protocol") == wantVersion2 {
			asked++
		}
		r.Header.Del("Git-Protocol")
	})
	for depth := range 2 {
		dir := filepath.Join(filepath.Dir(o.Root), "mirror", strings.Repeat("x", depth+1))
		for range 2 {
			tip := o.advance("main", "a", randomText(10))
			git, err := Mirror(t.Context(), dir, remote, MirrorOptions{Depth: depth}, o.env())
			must(t, err)
			o.At(git.Common).Fsck()
			resolves(t, gitops.New(git), "main", tip)
		}
	}
	if asked == 0 {
		t.Error("no server was asked for version 2")
	}
}

func TestVersion2IsUsedForFetchesFromServers(t *testing.T) {
	o := newOrigin(t)
	overSSH, _ := o.overSSH()
	for _, remote := range []Repo{o.overHTTP(nil), overSSH} {
		at, err := ParseAddress(remote.URL)
		must(t, err)
		for service, want := range map[string]bool{uploadPack: true, receivePack: false} {
			c, err := converse(t.Context(), at, remote, service, o.env())
			must(t, err)
			if c.version2 != want || len(c.refs.References) < 3 {
				t.Errorf("%s over %s: version 2: %v, %d references", service, at.Scheme, c.version2, len(c.refs.References))
			}
			c.close()
		}
	}
}
