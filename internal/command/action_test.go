package command

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
)

// actionStep runs the action's subcommand in a directory with a scripted model, and
// returns its exit code and log.
func actionStep(t *testing.T, env map[string]string) (code int, log string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.yaml"), []byte("version: 1\nturns: [{text: Done.}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	t.Chdir(dir)
	all := map[string]string{"INPUT_PROMPT": "Look.", "INPUT_MODEL": "script:model.yaml", "RUNNER_TEMP": t.TempDir(), "PATH": os.Getenv("PATH"), "HOME": t.TempDir()}
	maps.Copy(all, env)
	var out strings.Builder
	code = Main(t.Context(), []string{"millhand", "github-action"}, world.World{
		In: strings.NewReader("\n"), Out: &out, Err: &out, Getenv: func(name string) string { return all[name] }, Now: time.Now,
	})
	return code, out.String()
}

func TestActionRunsWithoutRunnerFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	code, log := actionStep(t, nil)
	if code != 0 || !strings.Contains(log, "run passed in") || strings.Contains(log, "::group::") {
		t.Errorf("exit code %d\n%s", code, log)
	}
}

func TestOutputsThatCannotBeWrittenFailNoRun(t *testing.T) {
	code, log := actionStep(t, map[string]string{"GITHUB_OUTPUT": t.TempDir(), "GITHUB_STEP_SUMMARY": "/dev/null/none"})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"::warning title=millhand::write GITHUB_OUTPUT", "::warning title=millhand::write GITHUB_STEP_SUMMARY"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

func TestRunnerFilesAreWrittenAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	pipe, symlink := filepath.Join(dir, "pipe"), filepath.Join(dir, "symlink")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("target", symlink)); err != nil {
		t.Fatal(err)
	}
	code, log := actionStep(t, map[string]string{"GITHUB_OUTPUT": symlink, "GITHUB_STEP_SUMMARY": pipe})
	if want := "write GITHUB_STEP_SUMMARY: " + pipe + " is a FIFO without a reader"; code != 0 || !strings.Contains(log, want) {
		t.Errorf("exit code %d, and the log does not say %q:\n%s", code, want, log)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "target")); err != nil || !strings.Contains(string(text), "exit-code") {
		t.Errorf("the target of the symlink has %q, %v", text, err)
	}
}

func TestFullSummaryIsUnchanged(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "summary")
	full := strings.Repeat("x\n", action.MaxSummary/2)
	if err := os.WriteFile(summary, []byte(full), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, log := actionStep(t, map[string]string{"GITHUB_STEP_SUMMARY": summary}); code != 0 {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if got, err := os.ReadFile(summary); err != nil || len(got) != len(full) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
