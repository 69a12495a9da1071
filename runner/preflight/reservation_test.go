package preflight

import (
	"testing"
	"testing/synctest"
	"time"
)

// A child that a killed run has just started holds its lock for a moment. Branches of a run in progress stay reserved.
func TestABranchIsReservedWhileARunIsInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, run := range []string{"killed", "in-progress"} {
			r, err := openReservations(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			file, err := r.add(t.Context(), run, []string{"branch-of-" + run})
			if err != nil {
				t.Fatal(err)
			}
			r.close()
			if run == "killed" {
				time.AfterFunc(100*time.Millisecond, func() { file.Close() })
			} else {
				defer file.Close()
			}
		}
		for run, want := range map[string]string{"killed": "", "in-progress": "in-progress"} {
			branch := "branch-of-" + run
			r, err := openFor(t.Context(), dir, map[string]string{"job": branch})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.runs[branch]; got != want {
				t.Errorf("%s is reserved by %q, want %q", branch, got, want)
			}
			r.close()
		}
	})
}
