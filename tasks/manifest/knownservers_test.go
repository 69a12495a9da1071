package manifest

import (
	"strings"
	"testing"
)

func TestNamesOfKnownLanguageServers(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range knownServers() {
		if seen[k.name] || !serverName().MatchString(k.name) {
			t.Errorf("invalid name %q", k.name)
		}
		seen[k.name] = true
		for e := range strings.FieldsSeq(k.extensions) {
			if !fileExtension().MatchString(e) {
				t.Errorf("%s: invalid extension %q", k.name, e)
			}
		}
	}
}
