package patch

import (
	"strings"
	"testing"
)

func TestLinesThatEndWithCRAlone(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n+3\n three\n*** End Patch"
	for content, want := range map[string]string{
		"one\rtwo\rthree\r":        "one\r2\r3\rthree\r",
		"one\rtwo\rthree":          "one\r2\r3\rthree",
		"0\r  one\r  two\r  three": "0\r  one\r  2\r  3\r  three",
	} {
		got, err := applyText(patch, map[string]string{"a": content})
		if err != nil || len(got) != 1 || string(got[0].Content) != want {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
	if _, err := applyText(patch, map[string]string{"a": "one\rtwo\rthree\nfour\n"}); err == nil || !strings.Contains(err.Error(), "CR alone") || !strings.Contains(err.Error(), "use edit") {
		t.Error(err)
	}
	got, err := applyText("*** Begin Patch\n*** Update File: a\n@@\n-x\ry\n+x\rz\n*** End Patch", map[string]string{"a": "x\ry"})
	if err != nil || string(got[0].Content) != "x\rz" {
		t.Errorf("%v, %v", got, err)
	}
}
