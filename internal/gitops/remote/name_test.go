package remote

import (
	"strings"
	"testing"
)

func TestMirrorsHaveNamesOfTheirOwn(t *testing.T) {
	one, two := MirrorName("https://host/a/b.git", 0), MirrorName("https://host/a-b.git", 0)
	if one == two || !strings.HasPrefix(one, "host-a-b-") || !strings.HasSuffix(one, ".git") {
		t.Errorf("%s, %s", one, two)
	}
	if deep := MirrorName("https://host/a/b.git", 3); deep != strings.TrimSuffix(one, ".git")+"-depth3.git" {
		t.Error(deep)
	}
	if long := MirrorName("git@host:"+strings.Repeat("x", 300), 0); len(long) > 100 {
		t.Error(long)
	}
}
