package starter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

func TestTestCommandsOfOtherEcosystems(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		tests []string
	}{
		"Maven":                      {map[string]string{"pom.xml": "<project/>"}, []string{"mvn --batch-mode --offline --quiet test"}},
		"Gradle with its wrapper":    {map[string]string{"gradlew": "#!/bin/sh", "build.gradle": ""}, []string{"./gradlew --offline test"}},
		"Gradle":                     {map[string]string{"build.gradle": ""}, []string{"gradle --offline test"}},
		"RSpec":                      {map[string]string{"Gemfile": "gem 'rspec'\n", "Rakefile": "task :test\n"}, []string{"bundle exec rspec"}},
		"Rake":                       {map[string]string{"Gemfile": "gem 'rake'\n", "Rakefile": "task :test\n"}, []string{"bundle exec rake test"}},
		"Ruby without tests":         {map[string]string{"Gemfile": "gem 'rake'\n"}, nil},
		"PHPUnit":                    {map[string]string{"composer.json": `{"require-dev": {"phpunit/phpunit": "^11"}, "scripts": {"test": "x"}}`}, []string{"vendor/bin/phpunit"}},
		"PHP without tests":          {map[string]string{"composer.json": `{"scripts": {"lint": "x"}}`}, nil},
		"a task of Deno":             {map[string]string{"deno.json": `{"tasks": {"test": "deno test -A"}}`}, []string{"deno task test"}},
		"unittest of a directory":    {map[string]string{"test/test_a.py": "import unittest\n"}, []string{"python3 -m unittest discover -s test"}},
		"a Makefile, which is last":  {map[string]string{"go.mod": "module a\n", "Makefile": "test:\n\ttrue\n"}, []string{"go test ./..."}},
		"a Makefile for other tests": {map[string]string{"Makefile": "integration-test:\n\ttrue\n"}, nil},
	} {
		if diff := cmp.Diff(tt.tests, look(t, tt.files).Tests); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A file of the repository that leads out of it is not read.
func TestFilesOutsideOfTheRepositoryAreNotRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "Makefile")
	if err := os.WriteFile(outside, []byte("test:\n\ttrue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "Makefile")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if p, err := Look(root); err != nil || len(p.Tests) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDemoIsACompleteRunWithoutAKey(t *testing.T) {
	files, err := Demo()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // the test
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := expand.Load(t.Context(), []string{"millhand.yaml"}, tasks.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range plan.Jobs {
		if !strings.HasPrefix(j.ModelName, "script:") || len(j.Verify) == 0 {
			t.Errorf("job %s: model %s, %d verify commands", j.ID, j.ModelName, len(j.Verify))
		}
	}
}

func TestNextStepsNameFilesThatWereWritten(t *testing.T) {
	for _, ci := range []CI{GitHub, GitLab, Cron} {
		files, err := ci.Files()
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(ci.Next()) {
			name := strings.TrimRight(word, ",")
			if filepath.Ext(name) != ".yaml" && filepath.Ext(name) != ".service" && name != ".github/millhand" {
				continue
			}
			if !slices.ContainsFunc(files, func(f File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") }) {
				t.Errorf("%s: %s is not among the files", ci, name)
			}
		}
	}
	if _, err := CI("jenkins").Files(); err == nil {
		t.Error("an unknown system has files")
	}
}
