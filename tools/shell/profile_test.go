package shell_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/shell"
)

// court decides lines under profiles and runs those that are allowed.
type court struct {
	bench shell.Bench
	env   tools.Env
}

func newCourt(tb testing.TB) *court {
	tb.Helper()
	space, err := workspace.Open(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { space.Close() })
	return &court{shell.NewBench(tb, shell.Stubs()), tools.Env{Workplace: tools.Workplace{Workspace: space, ChildEnv: []string{"HOME=/home/nobody"}}}}
}

// anyRules are rules for the stubs, behind one for everything.
func anyRules(r *rand.Rand) permission.Profile {
	p := permission.Profile{Name: "p"}
	rule := func(name, pattern string, e permission.Effect) {
		p.Rules = append(p.Rules, permission.Rule{Permission: name, Pattern: pattern, Effect: e, Source: "p:1"})
	}
	for _, name := range []string{"edit", "read", permission.ExternalDirectory} {
		rule(name, "*", permission.Allow)
	}
	rule("bash", "*", permission.Effect(min(1, r.IntN(4))))
	stubs := shell.Stubs()
	for range 1 + r.IntN(4) {
		words := []string{stubs[r.IntN(len(stubs))]}
		if r.IntN(8) == 0 {
			words[0] = "*"
		}
		for range r.IntN(3) {
			words = append(words, []string{"one", "two", "-x", "x_y", "*", "?ne", "o*"}[r.IntN(7)])
		}
		if r.IntN(2) == 0 {
			words = append(words, "*")
		}
		rule("bash", strings.Join(words, " "), permission.Effect(r.IntN(2)))
	}
	return p
}

// try holds a line that a profile allows to running nothing that it denies.
func (c *court) try(t *testing.T, profile permission.Profile, line string) (allowed bool) {
	t.Helper()
	env := c.env
	env.Profile = profile
	decisions, err := tools.Decide(&env, "bash", line)
	if err != nil {
		return false
	}
	for _, d := range decisions {
		if !d.Allowed() {
			return false
		}
	}
	for _, words := range c.bench.Ran(t, line) {
		req := permission.Need("bash", strings.Join(words, " "))
		for _, manager := range []string{"npx", "bunx", "uv", "poetry", "bundle", "rustup"} { // whose rule may speak for it
			req.Inner = req.Inner || strings.Contains(line, manager)
		}
		if d := profile.Decide(req); !d.Allowed() {
			t.Errorf("%s\nran %q, which is denied by %s; the line is allowed:", line, words, d.By())
			for _, d := range decisions {
				t.Log(d.Because())
			}
		}
	}
	return true
}

// TestAllowedLinesRunOnlyAllowedCommands runs generated lines under generated
// profiles.
func TestAllowedLinesRunOnlyAllowedCommands(t *testing.T) {
	c := newCourt(t)
	lines, allowed := 300, 0
	if testing.Short() {
		lines = 30
	}
	for seed := range uint64(lines) {
		r := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a repeatable sequence is wanted
		if c.try(t, anyRules(r), shell.Line(seed)) {
			allowed++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if allowed < lines/10 {
		t.Errorf("of %d lines only %d are allowed", lines, allowed)
	}
}

// FuzzAllowedLinesRunOnlyAllowedCommands does the same for other seeds.
func FuzzAllowedLinesRunOnlyAllowedCommands(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed+1000)
	}
	c := newCourt(f)
	f.Fuzz(func(t *testing.T, rules, line uint64) {
		c.try(t, anyRules(rand.New(rand.NewPCG(rules, 3))), shell.Line(line)) //nolint:gosec // a repeatable sequence is wanted
	})
}
