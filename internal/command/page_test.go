package command

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// TestPageOfTheDocs holds docs/cli.md to the command tree.
func TestPageOfTheDocs(t *testing.T) {
	const page = "../../docs/cli.md"
	got := commandPage(newApp(world.World{}))
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/cli.md: run make golden (-want +got)\n%s", diff)
	}
}

// Every variable of millhand's own that the program names is on the page.
func TestPageHasEveryVariable(t *testing.T) {
	page := commandPage(newApp(world.World{}))
	out, err := exec.CommandContext(t.Context(), "git", "grep", "-ohE", `"MILLHAND_[A-Z_]+"`, "--", ":/*.go",
		":!/*_test.go", ":!/internal/testing/e2e", ":!/internal/dev/nightly").Output()
	if err != nil {
		t.Skipf("the tree is not a git repository: %v", err)
	}
	names := strings.Fields(string(out))
	for _, name := range names {
		if name = strings.Trim(name, `"`); name != "MILLHAND_" && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/cli.md lacks %s", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("only %d variables were found", len(names))
	}
}

const (
	pageStart = `# The command line

This page lists every command with its flags, the exit codes, and the environment
variables. ` + "`millhand help COMMAND`" + ` and ` + "`millhand man`" + ` print the same.

Flags may come before or after the arguments; ` + "`--`" + ` ends the flags. Values follow as
` + "`--flag value` or `--flag=value`" + `. Results go to standard output, everything else to standard
error ([log.md](log.md)). RUN is the id of a saved run, or its report directory.

## Commands

| command | description |
|---|---|
`
	pageExits = `
## Exit codes

| code | meaning |
|---|---|
`
	pageExitsEnd = `
If jobs end with different codes, the exit code is the first of %s
that occurred; each job has its own ` + "`outcome`" + ` in the report. A job also fails, before anything
is paid, if ` + "`baseline`" + ` requires another result of a verify command, or if the environment
lacks something that the job needs (reason code ` + "`environment`" + `). ` + "`--fail-on`" + ` ignores some failures.
[troubleshooting.md](troubleshooting.md) lists all reasons.

` + "`millhand session resume`, `session fork` and `report merge`" + ` exit as a run does. ` + "`validate`" + ` exits with 2 for an
invalid manifest, and ` + "`plan --check`" + ` if a job would be refused. ` + "`policy explain`" + ` exits with 3
if the call is denied, ` + "`tool`" + ` with 3 if it is denied and with 1 if it failed. ` + "`doctor`" + ` exits with 1 if
no run works on the machine, and with 3 if profiles with bash are refused. ` + "`publish`" + ` and its
subcommands exit with 7 if a push or a request failed, and with 1 if something else was not done.

Signals within 2 s count as one, because ` + "`timeout`" + ` sends each signal twice. A second
distinct signal kills commands immediately, without the 2 s between SIGTERM and
SIGKILL; patches and reports are still written. The fourth ends the process
immediately, and so does the second while manifests are read and checked.

## Environment variables

An environment variable sets a flag that the command line does not have: ` + "`MILLHAND_REPORT_DIR`" + `
sets ` + "`--report-dir`" + `. The tables of the commands list these variables. An empty variable sets nothing, and a
value for a flag without a value is ` + "`true` or `false`" + `. Variables that a command does not have are ignored.

[models.md](models.md) lists the variables with the keys of model providers. These are the others:

| variable | meaning |
|---|---|
`
)

// commandPage returns the text of docs/cli.md.
func commandPage(app *cli.App) string {
	var list, details strings.Builder
	for _, c := range app.Commands {
		if !c.Hidden {
			describe(&list, &details, []string{app.Name, c.Name}, c)
		}
	}
	var b strings.Builder
	b.WriteString(pageStart + list.String() + "\n" + strings.TrimSuffix(details.String(), "\n") + pageExits)
	for rows := event.Exits(); len(rows) > 0; { // codes with the same text share a row
		codes, doc := []string{strconv.Itoa(int(rows[0].Exit))}, rows[0].Doc
		for rows = rows[1:]; len(rows) > 0 && rows[0].Doc == doc; rows = rows[1:] {
			codes = append(codes, strconv.Itoa(int(rows[0].Exit)))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(codes, ", "), doc)
	}
	fmt.Fprintf(&b, pageExitsEnd, strings.Join(precedence(), ", "))
	for _, v := range variableDocs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(v.names, "`, `"), cell(v.text))
	}
	return b.String()
}

// describe adds a row and a section for each command that can be run.
func describe(list, details *strings.Builder, path []string, c *cli.Command) {
	if len(c.Subcommands) == 0 || c.ArgsUsage != "" {
		name := strings.Join(path, " ")
		fmt.Fprintf(list, "| [`%s`](#%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), cell(c.Usage))
		fmt.Fprintf(details, "### %s\n\n%s\n\n    %s\n\n", name, prose(cmp.Or(c.Description, c.Usage+".")), strings.TrimSpace(name+" [flags] "+c.ArgsUsage))
		flagTables(details, c)
		if c.UsageText != "" {
			fmt.Fprintf(details, "```sh\n%s\n```\n\n", c.UsageText)
		}
	}
	for _, s := range c.Subcommands {
		if !s.Hidden {
			describe(list, details, append(slices.Clip(path), s.Name), s)
		}
	}
}

// flagTables writes a table of flags for each of their categories.
func flagTables(b *strings.Builder, c *cli.Command) {
	var groups []string
	tables := map[string]string{}
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); !ok || !v.IsVisible() {
			continue
		}
		if f.Names()[0] == "help" {
			continue
		}
		group, by := cmp.Or(f.(cli.CategorizableFlag).GetCategory(), "flags"), ""
		row, text := flagRow(f)
		if name := variable(f); name != "" {
			by = "`" + name + "`"
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		tables[group] += fmt.Sprintf("| `%s` | %s | %s |\n", row, cell(text), by)
	}
	for _, g := range groups {
		title := strings.ToUpper(g[:1]) + g[1:]
		fmt.Fprintf(b, "| %s | description | variable |\n|---|---|---|\n%s\n", strings.ToLower(title), tables[g])
	}
}

// precedence returns the exit codes in the order in which one goes before another.
func precedence() []string {
	left := make([]event.Exit, 0, len(event.Exits()))
	for _, e := range event.Exits() {
		if e.Exit != event.ExitOK && e.Exit != event.ExitUsage { // no job ends with it
			left = append(left, e.Exit)
		}
	}
	var codes []string
	for len(left) > 0 {
		worst := event.Worst(left)
		codes = append(codes, strconv.Itoa(int(worst)))
		left = slices.DeleteFunc(left, func(e event.Exit) bool { return e == worst })
	}
	return codes
}

// prose escapes a text for Markdown, and cell also for a cell of a table.
func prose(text string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(text)
}

func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }
