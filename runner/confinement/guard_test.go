package confinement

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

func TestTamperingNamesTheFilesAndWhetherTheyWereRestored(t *testing.T) {
	for why, changed := range map[string]error{"were restored": nil, "failed: no room": errors.New("no room")} {
		err := tampering([]string{".git/config", ".git/hooks"}, changed)
		denied := (*permission.Error)(nil)
		if !errors.As(err, &denied) || !strings.Contains(err.Error(), ".git/config, .git/hooks") || !strings.Contains(denied.Decision.Why, why) {
			t.Errorf("%v", err)
		}
	}
}

func TestGitsFilesAreGuardedWhereTheLevelCantProtectThem(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	readonly, _ := permission.Preset("readonly")
	for name, c := range map[string]struct {
		ground Env
		want   bool
	}{
		"level A":            {Env{Level: sandbox.Full, Rules: Rules{Profile: readonly}}, false},
		"no sandbox":         {Env{Level: sandbox.None, Rules: Rules{Profile: readonly}}, false},
		"level B":            {Env{Level: sandbox.Partial, Dirs: Dirs{InPlace: true}, Rules: Rules{Profile: readonly}}, true},
		"level B, may write": {Env{Level: sandbox.Partial, Rules: Rules{Profile: permission.Profile{Rules: []permission.Rule{{Permission: permission.Git, Pattern: "*", Effect: permission.Allow}}}}}, false},
	} {
		c.ground.Workspace = repo
		g, err := newGuard(c.ground, nested{})
		if err != nil || (g != nil) != c.want {
			t.Errorf("%s: %v, %v", name, g, err)
		}
		if g != nil {
			inner := c.ground
			inner.Within = &Confinement{guard: g}
			if shared, err := newGuard(inner, nested{}); shared != g || err != nil {
				t.Errorf("a second guard: %v", err)
			}
			var told error
			g.tell = func(err error) { told = err }
			g.compare()
			if told != nil {
				t.Errorf("nothing has changed, and: %v", told)
			}
			git("config", "core.fsmonitor", "evil")
			if g.compare(); told == nil || git("config", "--default", "none", "core.fsmonitor") != "none" {
				t.Errorf("told %v", told)
			}
			g.files.Close()
		}
	}
}
