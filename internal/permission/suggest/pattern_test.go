package suggest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
)

func TestTheStemIsTheProgramWithItsSubcommand(t *testing.T) {
	for command, want := range map[string]string{
		"":                        "",
		"ls -la":                  "ls",
		"go":                      "go",
		"go test ./...":           "go test",
		"go tool cover -html x":   "go tool cover",
		"go run ./cmd":            "go run",
		"/usr/bin/git log":        "/usr/bin/git log",
		"npm run build --watch":   "npm run build",
		"make -j 4 test":          "make -j",
		"make -j4 test":           "make -j4 test",
		"cargo --version":         "cargo --version",
		"python3 -m pytest tests": "python3 -m pytest",
		"python3 gen.py x":        "python3 gen.py",
		"./run.sh a b":            "./run.sh",
		"./gradlew check":         "./gradlew check",
		"echo a b":                "echo",
	} {
		words := strings.Fields(command)
		if got := strings.Join(words[:stem(words)], " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestCandidatesAreFromWideToNarrow(t *testing.T) {
	for _, c := range []struct {
		need permission.Request
		want []string
	}{
		{permission.Need("bash", "git push origin a"), []string{"git push *", "git push origin *", "git push origin a *", "git push origin a"}},
		{permission.Need("bash", "ls *.go"), []string{"ls *", "ls ?.go *", "ls ?.go"}},
		{permission.Need("bash", "~/bin/x"), []string{"?/bin/x *", "?/bin/x"}},
		{permission.Need("edit", "a/b.go"), []string{"a/b.go"}},
		{permission.Need("webfetch", "https://a.org/b"), []string{"https://a.org/*", "https://a.org/b"}},
		{permission.Need("external_read", "/usr/lib/a"), []string{"/usr/lib/*", "/usr/lib/a"}},
		{permission.Need("external_read", "/usr"), []string{"/usr"}},
		{permission.Need("git", ".git/config"), []string{"*"}},
		{permission.Need("mcp_tool", "*"), []string{"*"}},
		{permission.Need("bash", ""), nil},
		{permission.Need("*", "x"), nil},
	} {
		var got []string
		for _, p := range candidates(c.need) {
			got = append(got, p.text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.need.Permission, c.need.Subject(), diff)
		}
	}
}
