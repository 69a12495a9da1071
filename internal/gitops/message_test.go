package gitops

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// TestMessagesAreAsOfGit compares messages with those of git stripspace and git interpret-trailers.
func TestMessagesAreAsOfGit(t *testing.T) {
	t.Parallel()
	git := func(text string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	check := func(text string) {
		want := git(text, "stripspace")
		if got := CleanMessage(text); got != want {
			t.Errorf("%q is cleaned to %q, by git to %q", text, got, want)
		}
		if want == "" {
			return
		}
		// Git also rewrites earlier trailers.
		want = git(want, "interpret-trailers", "--no-divider", "--if-exists", "add", "--trailer", "Millhand-Run: 1", "--trailer", "Millhand-Job: a")
		want = git(want, "interpret-trailers", "--no-divider", "--parse")
		made := WithTrailers(text, "Millhand-Run: 1", "Millhand-Job: a")
		if got := git(made, "interpret-trailers", "--no-divider", "--parse"); got != want || !strings.HasPrefix(made, strings.TrimSuffix(CleanMessage(text), "\n")) {
			t.Errorf("%q gets %q with the trailers %q, by git %q", text, made, got, want)
		}
	}
	for _, text := range []string{
		"fix", "fix\n\nbody", "fix\n\nbody\n\nChange-Id: I01\nSigned-off-by: A <a@b.c>", "fix: x", "fix: x\nA: b", "fix\n\nA: b\n c\nB: d",
		"fix\n\nA: b\nno trailer", "fix\n\nSigned-off-by: A\nno trailer\nneither", "fix\n\n(cherry picked from commit 1)", "fix\n\nSigned-off-by: A\n1\n2\n3\n4",
		"fix  \n\n\n\nbody\t\n \n\nA : b", "\n\n fix\n", "fix\n\nhttps://a.b", "fix\n\nBREAKING CHANGE: x", "fix\n\n# A: b\nB: c", "fix\n\n A: b", "fix\n\nA b: c",
		"fix\r\n\r\nA: b\r\n", "fix\n\n---\n\nA: b",
	} {
		check(text)
	}
	random := nightly.Random(t)
	for range nightly.Count(30, 3000, 30000) {
		check(randomMessage(random))
	}
}

func randomMessage(random *rand.Rand) string {
	lines := []string{"", "", "", " ", "fix: x", "a text", "A: b", "Signed-off-by: A <a@b.c>", "  more", "\tmore", "(cherry picked from commit 1)", "Fixes #1", "x:", ": y", "a-b : c", "---"}
	var b strings.Builder
	for range 1 + random.IntN(9) {
		b.WriteString(lines[random.IntN(len(lines))] + "\n")
	}
	return b.String()
}
