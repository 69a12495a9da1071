package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/world"
)

// noon is the current time in the tests.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// runsLine runs "millhand runs" at noon.
func runsLine(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	exit = Main(t.Context(), append([]string{"millhand", "runs"}, args...), world.World{
		In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Now: noon,
	})
	return exit, out.String(), errs.String()
}

func TestMistakesInCommandsForRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{"prune", "prune --keep -1", "prune --keep 1 --older-than -1h", "list here", "prune --keep 1 here"} {
		if exit, out, errs := runsLine(t, strings.Fields(args)...); exit != 2 || out != "" || errs == "" {
			t.Errorf("%s: exit %d, %q, %q; want 2 and a reason", args, exit, out, errs)
		}
	}
}

// MILLHAND_KEEP, which sets "run --keep", must not set "runs prune --keep".
func TestKeepIsNotReadFromTheEnvironment(t *testing.T) {
	t.Setenv("MILLHAND_KEEP", "1")
	if exit, _, errs := runsLine(t, "prune", "--dir", t.TempDir()); exit != 2 || !strings.Contains(errs, "requires --keep") {
		t.Errorf("exit %d, %q", exit, errs)
	}
}
