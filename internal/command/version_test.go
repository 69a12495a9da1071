package command

import (
	"runtime/debug"
	"strings"
	"testing"
)

// A build of a tag has its version, others that of the source with the commit.
func TestVersionIsThatOfTheTagOrTheSource(t *testing.T) {
	source := strings.TrimSpace(sourceVersion)
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "863417fe12345678"}}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"no information": {nil, source},
		"a tag":          {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: revision}, "v1.2.3"},
		"a changed tag":  {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: revision}, "v1.2.3+dirty"},
		"no tag":         {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261128103045-863417fe1234"}, Settings: revision}, source + "+863417fe1234"},
		"after a tag":    {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261128103045-863417fe1234+dirty"}, Settings: revision}, source + "+863417fe1234"},
		"go install":     {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261128103045-863417fe1234"}}, source + "+863417fe1234"},
		"no repository":  {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, source},
	} {
		if got := versionOf(test.info).Version; got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
