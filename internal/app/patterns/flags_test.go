package patterns

import (
	"fmt"
	"strings"
	"testing"
)

// reasons returns the reasons to read a patch, one per line.
func reasons(patch string) string {
	c := &Collector{}
	c.Add(Change{Job: "j", Repo: "r"}, strings.NewReader(patch))
	var all []string
	for _, g := range c.Result().Reading {
		for _, r := range g.Reasons {
			all = append(all, fmt.Sprintf("%s %s %s", r.Kind, r.Location(), r.Detail))
		}
	}
	return strings.Join(all, "\n")
}

// patchOf returns a patch of one hunk.
func patchOf(file, lines string) string {
	lines = strings.Trim(lines, "\n")
	before, after := 0, 0
	for line := range strings.Lines(lines) {
		if line[0] != '+' {
			before++
		}
		if line[0] != '-' {
			after++
		}
	}
	return fmt.Sprintf("diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n%s\n", file, file, file, file, before, after, lines)
}

func TestRiskyEditsHaveAReason(t *testing.T) {
	for _, tt := range []struct{ patch, want string }{
		{patchOf("a.go", "-a()\n+b()"), ""},
		{patchOf("a.go", "-\tos.WriteFile(n, b, 0644)\n+\tos.WriteFile(n, b, 0o777)"), "modes a.go:1 0644 → 0777"},
		{patchOf("a.go", "-\tos.WriteFile(n, b, 0777)\n+\tos.WriteFile(n, b, 0o644)"), ""},
		{patchOf("a.go", "-\tioutil.WriteFile(n, b, 0644)\n+\tos.WriteFile(n, b, 0o644)"), ""},
		{patchOf("a.go", "+\tos.MkdirAll(n, os.ModePerm)"), "modes a.go:1 permissions 0777"},
		{patchOf("Dockerfile", " FROM a\n+RUN chmod -R a+rwx /srv"), "modes Dockerfile:2 permissions 0777"},
		{patchOf("a.sh", "-chmod 640 x\n+chmod 666 x"), "modes a.sh:1 0640 → 0666"},
		{"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n", "modes run mode 100644 → 100755"},
		{"diff --git a/run b/run\nold mode 100755\nnew mode 100644\n", ""},
		{"diff --git a/run b/run\nnew file mode 120000\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "modes run symlink"},
		{"diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n", "modes run new file with mode 100755"},
		{patchOf("a_test.go", " func TestA(t *testing.T) {\n+\tt.Skip()\n }"), "tests a_test.go 1 skip marker added"},
		{patchOf("a_test.go", "-func TestA(t *testing.T) {\n-}"), "tests a_test.go 1 test case removed: TestA"},
		{patchOf("a_test.go", "-func TestA(t *testing.T) {\n-}") + patchOf("b_test.go", "+func TestA(t *testing.T) {\n+}"), ""},
		{"diff --git a/a_test.go b/a_test.go\ndeleted file mode 100644\n--- a/a_test.go\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-func TestA(t *testing.T) {\n-}\n", "tests a_test.go test file deleted, with 1 test case: TestA"},
		{"diff --git a/a_test.go b/a.go\nsimilarity index 100%\nrename from a_test.go\nrename to a.go\n", "tests a_test.go test file renamed to a.go"},
		{patchOf("a.go", "-\tx()\n+\tx() //nolint:errcheck"), "suppressions a.go:1 added nolint"},
		{patchOf("a.go", "-\tx() //nolint:errcheck\n+\ty() //nolint:errcheck"), ""},
		{patchOf("go.mod", "+require example.com/a v1.0.0"), "dependencies go.mod:1 new: example.com/a"},
		{patchOf("go.mod", "-\texample.com/a v1.0.0\n+\texample.com/a v1.1.0"), ""},
		{patchOf("go.mod", " go 1.20\n+replace example.com/a => ../a"), "dependencies go.mod:2 new: example.com/a"},
		{patchOf("package.json", " \"dependencies\": {\n+    \"left-pad\": \"^1.0.0\","), "dependencies package.json:2 new: left-pad"},
		{patchOf("package.json", "-  \"version\": \"1.0.0\",\n+  \"version\": \"1.0.1\","), ""},
		{patchOf("requirements.txt", "+requests>=2,<3"), "dependencies requirements.txt:1 new: requests"},
		{patchOf("requirements-dev.txt", "-requests==2.0\n+requests==2.1"), ""},
		{patchOf("pyproject.toml", " dependencies = [\n+  \"requests>=2\","), "dependencies pyproject.toml:2 new: requests"},
		{patchOf("pyproject.toml", "+requests = \"^2.1\""), "dependencies pyproject.toml:1 new: requests"},
		{patchOf("Cargo.toml", "+serde = { version = \"1\", features = [\"derive\"] }"), "dependencies Cargo.toml:1 new: serde"},
		{patchOf("pom.xml", "+      <artifactId>guava</artifactId>"), "dependencies pom.xml:1 new: guava"},
		{patchOf("build.gradle.kts", "+    implementation(\"com.google.guava:guava:33.0\")"), "dependencies build.gradle.kts:1 new: com.google.guava:guava"},
		{patchOf("Gemfile", "+gem 'rails', '~> 7'"), "dependencies Gemfile:1 new: rails"},
		{patchOf("a.csproj", "+    <PackageReference Include=\"Serilog\" Version=\"3\" />"), "dependencies a.csproj:1 new: Serilog"},
		{patchOf("Dockerfile", "-FROM golang:1.20\n+FROM evil/golang:1.21"), "dependencies Dockerfile:1 new: evil/golang"},
		{patchOf(".github/workflows/ci.yml", "+      - uses: someone/action@v1"), "dependencies .github/workflows/ci.yml:1 new: someone/action"},
		{patchOf("go.sum", "-a\n+b"), "dependencies go.sum changed without go.mod"},
		{patchOf("go.mod", "-go 1.20\n+go 1.21") + patchOf("go.sum", "-a\n+b"), ""},
		{"diff --git a/a b/a\nGIT binary patch\nliteral 0\n", "binary a binary content"},
		{"diff --git a/a.go b/a.go\n@@ -1,9 +1,9 @@\n-a()\n", "unread a.go:1 an incomplete patch"},
	} {
		if got := reasons(tt.patch); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.patch, got, tt.want)
		}
	}
}
