package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnstructuredErrorsHaveNoComplaint(t *testing.T) {
	for _, data := range []string{"", "null", "[]", "[null]", "3", `{"error":null}`, `{"error":{"code":{}}}`, `{`} {
		if diff := cmp.Diff(complaint{}, parseComplaint([]byte(data)), cmp.AllowUnexported(complaint{})); diff != "" {
			t.Errorf("%q gives a complaint (-want +got):\n%s", data, diff)
		}
	}
}
