package pathtree

import "testing"

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/a", true},
		{"/a/b", "/a", true},
		{"/a/b", "/a/", true},
		{"/a/../b", "/a", false},
		{"/ab", "/a", false},
		{"/", "/a", false},
		{"/a", "/", true},
		{"/", "/", true},
		{"", "/", false},
		{"a", "/", false},
		{"/a", "", false},
		{"a/b", "a", false},
		{"a", ".", false},
	} {
		if got := Within(c.path, c.dir); got != c.want {
			t.Errorf("%q within %q: %t", c.path, c.dir, got)
		}
	}
}
