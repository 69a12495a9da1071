package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/archive"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/merge"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/toolbox"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/tasks"
)

// parseRun parses the flags and arguments of "millhand run".
func parseRun(args ...string) (invocation.Options, error) {
	o := invocation.New()
	others, _, err := option.Read(o.Fields(), args)
	if err == nil {
		err = o.Parse(others)
	}
	return *o, err
}

func TestOptionsOfRun(t *testing.T) {
	o, err := parseRun(strings.Fields(`a.yaml --model m --profile=p --only a,b --only c --var x=1=2 --var y= --jobs 3 --max-turns 4 --max-cost 2.5
		--max-time 90m --limit 5 --sample 6 --shard 2/5 --publish push --max-profile q --policy f --untrusted --sandbox off --keep --fail-on verify
		--max-failures 7 --report-dir r --record e --quiet --log-format json --log-level warn b.yaml`)...)
	if err != nil {
		t.Fatal(err)
	}
	want := invocation.Options{
		Plan: load.Options{
			PolicyOptions: load.PolicyOptions{
				Policies: []string{"f"}, Untrusted: true, MaxProfile: "q", Paths: []load.Path{{Flag: "--report-dir", Path: "r"}, {Flag: "--record", Path: "e"}, {Flag: "--sources", Path: ""}},
			},
			Overrides: tasks.Overrides{
				Model: "m", Profile: "p", Only: []string{"a,b", "c"}, Vars: map[string]string{"x": "1=2", "y": ""}, Parallel: 3, MaxTurns: 4, MaxCost: 5 * money.Dollar / 2,
				MaxTime: 90 * time.Minute, Limit: 5, Sample: 6, Shard: tasks.Shard{Index: 2, Total: 5}, Publish: tasks.PublishPush,
			},
			Manifests: []string{"a.yaml", "b.yaml"},
		},
		ReportDir: "r", Record: "e", Sandbox: "off", Keep: true, MaxFailures: 7, FailOn: event.FailOnVerify,
		Log: view.Options{Format: "json", Level: "warn", Quiet: true},
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", o)); diff != "" {
		t.Error(diff)
	}
	if o, err = parseRun("--fail-fast", "m.yaml"); err != nil || o.MaxFailures != 1 || o.Sandbox != "auto" || o.FailOn != event.FailOnAny || o.Log.Level != "info" {
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
		"requires a NAME and --dir":                                     (&toolbox.Options{}).Parse([]string{"read"}),
		"the tool lsp requires --manifest, with language servers (lsp)": (&toolbox.Options{Dir: "."}).Parse([]string{"lsp"}),
		"requires a tool and its subject":                               parseExplain(&policies.ExplainOptions{}, []string{"bash"}),
		"explain requires --profile":                                    parseExplain(&policies.ExplainOptions{}, []string{"bash", "ls"}),
		"tool list accepts no arguments":                                noArguments("tool list", []string{"x"}),
		"missing RUN argument":                                          (&shown.ReportOptions{}).Parse(nil),
		"report merge requires":                                         (&merge.Options{ReportDir: "r"}).Parse(nil),
		"report prune requires --keep":                                  archive.PruneOptions{Keep: -1}.Check(),
		"--older-than -1ns: must not be n":                              archive.PruneOptions{OlderThan: -1}.Check(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// flagRow returns a flag with its placeholder, and its description.
func flagRow(f cli.Flag) (name, text string) {
	name, text, _ = strings.Cut(f.String(), "\t")
	text, _, _ = strings.Cut(text, " [$") // the variables
	return name, text
}

// accepted returns the error for a command line that the program does not accept, without running it.
func accepted(args []string) error {
	app := newApp(world.World{Out: io.Discard})
	for _, c := range all(app.Commands) {
		if len(c.Subcommands) == 0 || c.ArgsUsage != "" {
			c.Action = func(*cli.Context) error { return nil }
		}
	}
	return runLine(context.Background(), app, args, noVariables)
}

// TestHelpHasPlaceholdersAndValidExamples compares the help of every command with a golden file, and checks the form
// of its flags and the flags in its examples.
func TestHelpHasPlaceholdersAndValidExamples(t *testing.T) {
	var got bytes.Buffer
	for _, path := range commandsOf(nil, newApp(world.World{}).Commands) {
		c, _ := find(newApp(world.World{}), path)
		if c.Hidden {
			continue
		}
		fmt.Fprintf(&got, "$ %s --help\n", strings.Join(append([]string{"millhand"}, path...), " "))
		if exit := Main(t.Context(), slices.Concat([]string{"millhand"}, path, []string{"--help"}), world.World{Out: &got, Err: &got, Getenv: noVariables}); exit != 0 {
			t.Errorf("%s: exit code %d", path, exit)
		}
		got.WriteString("\n")
		for _, f := range c.VisibleFlags() {
			name, text := flagRow(f)
			if !regexp.MustCompile("^[A-Z][a-z]+ ").MatchString(text) || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s: %q does not read like \"Print the version\"", c.Name, name, text)
			}
			if acceptsValue(f) && (!strings.Contains(name, " ") || strings.HasSuffix(name, " value")) {
				t.Errorf("%s: %s has no placeholder", c.Name, name)
			}
		}
	}
	for line := range strings.Lines(got.String()) {
		if _, call, ok := strings.Cut(line, "  millhand "); ok && !strings.Contains(line, "[flags]") && !strings.Contains(line, " COMMAND ") {
			if err := accepted(strings.Fields(call)); err != nil {
				t.Errorf("the example %q: %v", strings.TrimSpace(line), err)
			}
		}
	}
	const golden = "testdata/help.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil { //nolint:gosec // it is a source file
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
