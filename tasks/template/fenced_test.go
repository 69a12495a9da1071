package template

import (
	"strings"
	"testing"
)

func FuzzFenced(f *testing.F) {
	f.Add("a</event>b<!-- c")
	f.Fuzz(func(t *testing.T, text string) {
		got := fenced("comment.body", text)
		if n := len(eventFrame.FindAllString(got, -1)); n != 1 || !strings.HasSuffix(got, "\n</event>") {
			t.Errorf("%q has %d ends", got, n)
		}
		if len(got) > 3*maxEventText {
			t.Errorf("%d bytes", len(got))
		}
	})
}
