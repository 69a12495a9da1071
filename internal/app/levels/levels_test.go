package levels

import (
	"context"
	"errors"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/sandbox"
)

func TestPolicyMakesTheSandboxRequired(t *testing.T) {
	required := policy.Set{{Name: "p", Sandbox: "p.yaml:3"}}
	for _, tt := range []struct {
		mode string
		set  policy.Set
		want string // "" if it is refused
	}{
		{"auto", nil, "auto"}, {"off", nil, "off"}, {"auto", required, "require"}, {"require", required, "require"}, {"off", required, ""}, {"external", required, ""},
	} {
		got, err := Mode(tt.mode, tt.set)
		if got != tt.want || (err != nil) != (tt.want == "") || err != nil && fault.ExitOf(err) != event.ExitUsage {
			t.Errorf("%s with %d policies: %q, %v", tt.mode, len(tt.set), got, err)
		}
	}
}

func TestLevelIsNoLessThanItsMode(t *testing.T) {
	nothing := func() sandbox.Found { return sandbox.Found{} }
	if level, _, err := Choose(t.Context(), "off", true, nothing); err != nil || level != sandbox.None {
		t.Errorf("off: level %v, %v", level, err)
	}
	if _, _, err := Choose(t.Context(), "require", true, nothing); fault.ExitOf(err) != event.ExitPolicy {
		t.Errorf("require without any level: %v", err)
	}
	if _, _, err := Choose(t.Context(), "none", true, nothing); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("an unknown mode: %v", err)
	}
	cause := errors.New("a signal")
	ctx, end := context.WithCancelCause(t.Context())
	end(cause)
	if _, _, err := Choose(ctx, "off", true, nothing); !errors.Is(err, cause) {
		t.Errorf("a context that has ended: %v", err)
	}
}
