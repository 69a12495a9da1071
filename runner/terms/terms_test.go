package terms

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

func TestASessionReadsItsTerms(t *testing.T) {
	build, _ := permission.Preset("build")
	readonly, _ := permission.Preset("readonly")
	some := build
	some.Network.Hosts = strings.Fields("a.example b.example")
	many := build
	many.Network.Hosts = strings.Fields(strings.Repeat("h.example ", 12))
	var checks []tasks.Verify
	for range 12 {
		checks = append(checks, tasks.Verify{Run: "go test\n./..."})
	}
	const files = "temporary files: $TMPDIR, in bash commands only; it persists while the job lasts"
	for name, c := range map[string]struct {
		session Session
		want    []string
	}{
		"a profile without commands": {Session{Profile: readonly, Proxied: true}, nil},
		"no network":                 {Session{Profile: build, Proxied: true}, []string{files, "network of commands: none"}},
		"some hosts":                 {Session{Profile: some, Proxied: true}, []string{files, "network of commands: only a.example, b.example, through the proxy in HTTP_PROXY"}},
		"more hosts than are shown": {Session{Profile: many, Proxied: true}, []string{files, "network of commands: only " +
			strings.Join(many.Network.Hosts[:10], ", ") + " and 2 more, through the proxy in HTTP_PROXY"}},
		"without a proxy": {Session{Profile: some}, []string{files}},
		"private directories": {
			Session{Profile: build, Scratch: access.Scratch{Home: "/h", Replaced: []string{"/tmp"}}},
			[]string{files + "; /tmp is the same directory; HOME is a private directory"},
		},
		"limits": {
			Session{Profile: readonly, Limits: tasks.Limits{Turns: 1, Time: time.Hour, Tokens: 2000}},
			[]string{"limits: 1 turn, 1h0m0s, 2000 tokens"},
		},
		"more checks than are shown": {
			Session{Profile: readonly, Verify: checks},
			append(append([]string{"after your final message these commands must pass; if one fails, you get its output and continue:"},
				strings.Split(strings.Repeat("`go test ./...`|", 10), "|")[:10]...), "and 2 more"),
		},
	} {
		if diff := cmp.Diff(c.want, c.session.Lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
