package publish

import (
	"strings"
	"testing"
)

func TestAnnotated(t *testing.T) {
	body := Facts{Run: "1", Task: "t"}.Body("${{ patterns }}")
	once, changed := annotated(body, "- one")
	if !changed || !strings.Contains(once, "<!-- millhand:patterns -->\n- one\n<!-- /millhand:patterns -->") {
		t.Errorf("%v %s", changed, once)
	}
	if _, again := annotated(once, "- one"); again {
		t.Error("the same text changes the description again")
	}
	twice, changed := annotated(once+"\n\n---\n\n"+body, "- two")
	if !changed || strings.Count(twice, "- one") != 1 || strings.Index(twice, "- one") > strings.Index(twice, "- two") {
		t.Errorf("%v %s", changed, twice)
	}
	for _, body := range []string{"", "by a person", "<!-- millhand:patterns --> cut", Facts{Run: "1", Task: "t"}.Body("")} {
		if got, changed := annotated(body, "- one"); changed || got != body {
			t.Errorf("%q became %q", body, got)
		}
	}
	if got := (Facts{Task: "t"}).Title("${{ patterns }}a"); got != "a" {
		t.Errorf("title %q", got)
	}
	if got := (Facts{}).Body("x ${{ patterns }}"); got != "x <!-- millhand:patterns -->\n<!-- /millhand:patterns -->" {
		t.Errorf("body %q", got)
	}
}
