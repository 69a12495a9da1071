package starter

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/ecosystem"
)

// Project is what a repository shows of itself.
type Project struct {
	Ecosystems []string // package managers
	Setup      []string // commands that download dependencies
	Tests      []string // commands that test it
	CI         []string // CI systems that it uses
}

// maxRead is the maximum size of a file that is read, in bytes.
const maxRead = 1 << 20

// Look looks at the names of a repository's files, and reads the few that define its tests.
func Look(root *os.Root) (Project, error) {
	found, err := ecosystem.Detect(root)
	if err != nil {
		return Project{}, err
	}
	var p Project
	for _, f := range ecosystem.Needed(found, nil) {
		if !plain().MatchString(f.Dir) {
			continue
		}
		test := testOf(root, f)
		if slices.Contains([]string{"pip", "poetry", "uv"}, f.Name) {
			f.Name, f.Setup, test = python(root, f)
		}
		p.add(f, test)
	}
	for _, f := range others(root) {
		p.add(f.Found, f.test)
	}
	if len(p.Ecosystems) == 0 {
		if test := unittest(root, "."); test != "" {
			p.Ecosystems, p.Tests = []string{"python"}, []string{"python3 " + test}
		}
	}
	if len(p.Tests) == 0 && makeTest().MatchString(read(root, "Makefile")) {
		p.Tests = []string{"make test"}
	}
	slices.Sort(p.Ecosystems)
	p.Ecosystems = slices.Compact(p.Ecosystems)
	for _, ci := range []struct{ name, file string }{{"GitHub Actions", ".github/workflows"}, {"GitLab CI", ".gitlab-ci.yml"}} {
		if _, err := root.Stat(ci.file); err == nil {
			p.CI = append(p.CI, ci.name)
		}
	}
	return p, nil
}

// add adds a package manager.
func (p *Project) add(f ecosystem.Found, test string) {
	p.Ecosystems = append(p.Ecosystems, f.Name)
	if f.Setup != "" {
		p.Setup = append(p.Setup, f.Command())
	}
	if test != "" && f.Dir != "." {
		test = "cd " + f.Dir + " && " + test
	}
	if test != "" {
		p.Tests = append(p.Tests, test)
	}
}

var (
	// plain matches directories that need no quotes in a shell.
	plain    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./-]+$`) })
	makeTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^test:`) })
)

// testOf returns the command that tests a project, "" if it is not known.
func testOf(root *os.Root, f ecosystem.Found) string {
	file := func(name string) string { return read(root, path.Join(f.Dir, name)) }
	switch f.Name {
	case "go":
		return "go test ./..."
	case "cargo":
		return "cargo test --offline"
	case "npm", "pnpm", "yarn":
		var m struct{ Scripts map[string]string }
		if json.Unmarshal([]byte(file("package.json")), &m) != nil {
			return ""
		}
		if test := m.Scripts["test"]; test != "" && !strings.Contains(test, "no test specified") {
			return f.Name + " test"
		}
	case "maven":
		return "mvn --batch-mode --offline --quiet test"
	case "gradle":
		if f.File == "gradlew" {
			return "./gradlew --offline test"
		}
		return "gradle --offline test"
	case "bundler":
		if strings.Contains(file("Gemfile"), "rspec") {
			return "bundle exec rspec"
		}
		if strings.Contains(file("Rakefile"), "test") {
			return "bundle exec rake test"
		}
	case "composer":
		if strings.Contains(file("composer.json"), "phpunit/phpunit") {
			return "vendor/bin/phpunit"
		}
		var m struct{ Scripts map[string]any }
		if json.Unmarshal([]byte(file("composer.json")), &m) == nil && m.Scripts["test"] != nil {
			return "composer test"
		}
	}
	return ""
}

// read returns a file of the repository, "" without it.
func read(root *os.Root, name string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return ""
	}
	return string(data)
}

// Summary returns what was found, and what the user has to add, in a line.
func (p Project) Summary() string {
	switch {
	case len(p.Ecosystems)+len(p.Tests) == 0:
		return "found no package manager and no test command: write the setup and verify commands of the project into the manifest"
	case len(p.Tests) == 0:
		return "found " + strings.Join(p.Ecosystems, ", ") + ", but no test command: write setup and verify commands into the manifest; its dependencies: " + strings.Join(p.Setup, "; ")
	case len(p.Ecosystems) == 0:
		return "found tests: " + strings.Join(p.Tests, "; ")
	}
	return "found " + strings.Join(p.Ecosystems, ", ") + "; tests: " + strings.Join(p.Tests, "; ")
}

// Manifest returns a first manifest for the project, with the key providers if it is not "".
func (p Project) Manifest(model, providers string) []byte {
	var b strings.Builder
	b.WriteString("# All keys: https://github.com/millhand/millhand/blob/main/docs/manifest.md, or millhand explain KEY. Check this file with: millhand validate millhand.yaml\n")
	fmt.Fprintf(&b, "version: 1\nmodel: %s\n%s", model, providers)
	if len(p.Tests) == 0 {
		b.WriteString(untested)
		return []byte(b.String())
	}
	b.WriteString(tested)
	if len(p.Setup) > 0 {
		fmt.Fprintf(&b, "    # Downloads dependencies before the agent starts; the agent has no network.\n    setup: %s\n", flow(p.Setup))
	}
	fmt.Fprintf(&b, "    # Must succeed after the agent, which gets the output and another attempt otherwise.\n    verify: %s\n    attempts: 3\n", flow(p.Tests))
	return []byte(b.String())
}

const (
	limits = "limits: {turns: 40, cost: 1.00, time: 20m}   # of each job; cost in US dollars\n"
	tested = `profile: build   # edit files, and run commands in a sandbox without network
` + limits + `tasks:
  - id: fix-tests
    prompt: |
      Some tests fail. Find out why and fix the cause, not the tests.
`
	untested = `profile: edit    # edit files; build also runs commands, in a sandbox without network
` + limits + `tasks:
  - id: first-task
    prompt: |
      Describe the change, and how to recognize that it is complete.
    # A command that must succeed after the agent, which gets the output otherwise:
    # verify: [make test]
`
)

// flow returns a list in one line of YAML.
func flow(list []string) string {
	var items []string
	for _, item := range list {
		var text strings.Builder
		quoted := json.NewEncoder(&text)
		quoted.SetEscapeHTML(false) // people read &&
		_ = quoted.Encode(item)     // a string has no error
		items = append(items, strings.TrimSpace(text.String()))
	}
	return "[" + strings.Join(items, ", ") + "]"
}
