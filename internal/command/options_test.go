package command

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/tasks"
)

// parseRun parses the flags and arguments of "millhand run".
func parseRun(args ...string) (runOptions, error) {
	var o runOptions
	set, _, err := readFlags(&cli.Command{Name: "run", Flags: o.flags()}, args, func(string) string { return "" })
	if err == nil {
		err = o.parse(set.Args())
	}
	return o, err
}

func TestOptionsOfRun(t *testing.T) {
	o, err := parseRun(strings.Fields(`a.yaml --model m --profile=p --only a,b --only c --var x=1=2 --var y= --jobs 3 --max-turns 4 --max-cost 2.5
		--max-time 90m --limit 5 --sample 6 --shard 2/5 --publish push --max-profile q --policy f --untrusted --sandbox off --keep --fail-on verify
		--max-failures 7 --report-dir r --record e --quiet --log-format json --log-level warn b.yaml`)...)
	if err != nil {
		t.Fatal(err)
	}
	want := runOptions{
		plan: planOptions{
			policyOptions: policyOptions{
				policies: []string{"f"}, untrusted: true, maxProfile: "q", paths: []flagPath{{"--report-dir", "r"}, {"--record", "e"}, {"--sources", ""}},
			},
			Overrides: tasks.Overrides{
				Model: "m", Profile: "p", Only: []string{"a,b", "c"}, Vars: map[string]string{"x": "1=2", "y": ""}, Parallel: 3, MaxTurns: 4, MaxCost: 5 * money.Dollar / 2,
				MaxTime: 90 * time.Minute, Limit: 5, Sample: 6, Shard: tasks.Shard{Index: 2, Total: 5}, Publish: tasks.PublishPush,
			},
			manifests: []string{"a.yaml", "b.yaml"},
		},
		reportDir: "r", record: "e", sandbox: "off", keep: true, maxFailures: 7, failOn: event.FailOnVerify,
		log: view.Options{Format: "json", Level: "warn", Quiet: true},
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", o)); diff != "" {
		t.Error(diff)
	}
	if o, err = parseRun("--fail-fast", "m.yaml"); err != nil || o.maxFailures != 1 || o.sandbox != "auto" || o.failOn != event.FailOnAny || o.log.Level != "info" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestMistakesInOptions(t *testing.T) {
	for line, want := range map[string]string{
		"":                      "run requires a manifest",
		"m --jobs 0":            "--jobs: must be an integer greater than 0",
		"m --max-cost -1":       "--max-cost: must be an amount greater than 0",
		"m --max-cost NaN":      "--max-cost: must be an amount greater than 0",
		"m --max-time 0s":       "--max-time: must be a duration greater than 0",
		"m --shard 6/5":         "--shard: ",
		"m --var x":             "--var: must be NAME=VALUE",
		"m --fail-on sometimes": "--fail-on: ",
		"m --only-failed":       "--only-failed and --accept-changes require --resume RUN",
		"--resume x --dry-run":  "--dry-run can't be combined with --resume",
	} {
		if _, err := parseRun(strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run %s: got %v, want %q", line, err, want)
		}
	}
	for want, err := range map[string]error{
		"must be from 1 to 256":     (&showOptions{format: "table", shards: 257}).parse([]string{"m"}),
		"unknown plan format":       (&showOptions{format: "xml"}).parse([]string{"m"}),
		"plan requires a manifest":  (&showOptions{format: "json"}).parse(nil),
		"requires a NAME and --dir": (&toolOptions{}).parse([]string{"read"}),
		"the tool lsp requires --manifest, with language servers (lsp)": (&toolOptions{dir: "."}).parse([]string{"lsp"}),
		"requires a tool and its subject":                               (&explainOptions{}).parse([]string{"bash"}),
		"explain requires --profile":                                    (&explainOptions{}).parse([]string{"bash", "ls"}),
		"tool list accepts no arguments":                                (&toolsOptions{}).parse([]string{"x"}),
		"missing RUN argument":                                          (&reportOptions{}).parse(nil),
		"report merge requires":                                         (&mergeOptions{reportDir: "r"}).parse(nil),
		"report prune requires --keep":                                  (&pruneRunsOptions{keep: -1}).parse(nil),
		"--older-than -1ns: must not be n":                              (&pruneRunsOptions{olderThan: -1}).parse(nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestHelp compares the help of every command with a golden file, and checks the form
// of its flags and the flags in its examples.
func TestHelp(t *testing.T) {
	var got strings.Builder
	var walk func(path []string, c *cli.Command)
	walk = func(path []string, c *cli.Command) {
		fmt.Fprintf(&got, "$ %s --help\n", strings.Join(path, " "))
		if err := writeHelp(&got, path, c); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n")
		for _, r := range helpRows(c) {
			if !regexp.MustCompile("^[A-Z][a-z]+ ").MatchString(r.text) || strings.HasSuffix(r.text, ".") {
				t.Errorf("%s: %s: %q does not read like \"Print the version\"", c.Name, r.name, r.text)
			}
		}
		for _, f := range c.Flags {
			if r := flagRow(f); acceptsValue(f) && f.(cli.VisibleFlag).IsVisible() && !strings.Contains(strings.TrimSpace(r.name), " ") {
				t.Errorf("%s: %s has no placeholder", c.Name, r.name)
			}
		}
		for _, s := range c.Subcommands {
			if !s.Hidden {
				walk(append(path[:len(path):len(path)], s.Name), s)
			}
		}
	}
	root := newRoot(World{})
	walk([]string{root.Name}, root)
	for line := range strings.Lines(got.String()) {
		if _, call, ok := strings.Cut(line, "  millhand "); ok && !strings.Contains(line, "[flags]") {
			c, _, rest, err := find(newRoot(World{}), strings.Fields(call))
			if err == nil {
				_, _, err = readFlags(c, rest, func(string) string { return "" })
			}
			if err != nil && !strings.Contains(line, " COMMAND ") {
				t.Errorf("the example %q: %v", strings.TrimSpace(line), err)
			}
		}
	}
	const golden = "testdata/help.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
