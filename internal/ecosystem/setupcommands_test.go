package ecosystem_test

import (
	"os"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/ecosystem"
)

func TestNeeded(t *testing.T) {
	tests := []struct{ files, commands, want string }{
		{"go.mod web/package.json docs/requirements.txt", "go test ./...", "go mod download"},
		{"go.mod web/package.json docs/requirements.txt", "npm --prefix=./web test; make -C docs", "go mod download, cd docs && python3 -m pip install -r requirements.txt, cd web && npm install"},
		{"go.mod webby/package.json", "npm --prefix web test", "go mod download"},
		{"services/api/go.mod services/web/package-lock.json docs/requirements.txt", "make test", "cd services/api && go mod download, cd services/web && npm ci"},
		{"services/api/go.mod services/lib/go.mod", "cd services/api/cmd && go test", "cd services/api && go mod download, cd services/lib && go mod download"},
		{"package-lock.json packages/a/package.json packages/b/package.json packages/b/package-lock.json", "npm test -w packages/a && npm test --prefix packages/b", "npm ci, cd packages/b && npm ci"},
		{"go.work api/go.mod web/go.mod", "go test ./api/... ./web/...", "go mod download"},
		{"go.mod api/go.mod", "go test ./api/...", "go mod download, cd api && go mod download"},
		{"pom.xml core/pom.xml", "mvn -pl core test", "mvn --batch-mode dependency:go-offline"},
		{"a;b/go.mod", "go test", ""},
		{"a/go.mod b/go.mod c/go.mod d/go.mod e/go.mod f/go.mod", "make", "cd a && go mod download, cd b && go mod download, cd c && go mod download, cd d && go mod download, cd e && go mod download"},
	}
	for _, tt := range tests {
		var got []string
		for _, f := range ecosystem.Needed(ecosystem.DetectIn(strings.Fields(tt.files)), []string{tt.commands}) {
			got = append(got, f.Command())
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.files, text, tt.want)
		}
	}
}

func TestAdviceNamesTheDirectoryOfAnInstallation(t *testing.T) {
	const text = "add setup: [go mod download], or allow the host"
	for files, want := range map[string]string{
		"":                         text,
		"go.mod":                   text,
		"go.mod api/go.mod":        text,
		"api/go.mod":               "add setup: [cd api && go mod download], or allow the host",
		"api/go.mod web/go.mod":    "add setup: [cd api && go mod download, cd web && go mod download], or allow the host",
		"api/package.json x/y.mod": text,
	} {
		if got := ecosystem.InDirs(text, ecosystem.DetectIn(strings.Fields(files)), []string{"go test"}); got != want {
			t.Errorf("%s: got %s, want %s", files, got, want)
		}
	}
}

// The modules that a go.work uses count, and only below it.
func TestMissingOfGoWork(t *testing.T) {
	dir := home(t, nil, files{"go.work": "use ./api\nuse ../x\n", "api/go.mod": "module m\n\nrequire example.com/c v2.0.0\n"})("HOME")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := ecosystem.Detect(root)
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for cached, cache := range map[bool]files{false: nil, true: {"go/pkg/mod/example.com/c@v2.0.0/x": ""}} {
		if found[0].Missing(root, true, home(t, nil, cache)) == cached {
			t.Errorf("cached %v", cached)
		}
	}
}
