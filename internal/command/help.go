package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// appHelp and commandHelp are the templates of the library for help. Flags are in the order of their
// definition, in groups; the library's own template sorts both.
const (
	appHelp = `{{.Usage}}.

USAGE
  {{.HelpName}} COMMAND [flags]

COMMANDS{{range .VisibleCategories}}{{if not .Name}}{{range .VisibleCommands}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}{{end}}{{end}}

MORE COMMANDS{{range .VisibleCategories}}{{if .Name}}
  {{.Name}}: {{range $i, $c := .VisibleCommands}}{{if $i}}, {{end}}{{.Name}}{{end}}{{end}}{{end}}

FLAGS{{range .VisibleFlags}}
  {{.}}{{end}}

Use "{{.HelpName}} COMMAND --help" for the flags of a command.
`
	commandHelp = `{{if .Description}}{{.Description}}{{else}}{{.Usage}}.{{end}}

USAGE
  {{.HelpName}}{{if .VisibleCommands}}{{if .ArgsUsage}} [flags] {{.ArgsUsage}}
  {{.HelpName}}{{end}} COMMAND [flags]{{else}} [flags]{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}{{end}}
{{if .VisibleCommands}}
COMMANDS{{range .VisibleCommands}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{$group := "none"}}{{range .VisibleFlags}}{{if ne .GetCategory $group}}{{$group = .GetCategory}}
{{if $group}}{{$group}}{{else}}FLAGS{{end}}
{{end}}  {{.}}
{{end}}{{if .UsageText}}
EXAMPLES
  {{indent 2 .UsageText | trim}}
{{end}}{{if .VisibleCommands}}
Use "{{.HelpName}} COMMAND --help" for the flags of a command.
{{else if gt (len .VisibleFlags) 1}}
Environment variables can set flags, for example MILLHAND_REPORT_DIR sets --report-dir.
{{end}}`
)

// helpCommand prints the help of the command named by its arguments.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "Show help for a command", ArgsUsage: "[COMMAND...]",
		Action: func(in *cli.Context) error {
			return runLine(in.Context, in.App, append(in.Args().Slice(), "--help"), noVariables)
		},
		BashComplete: func(in *cli.Context) {
			c, _ := find(in.App, in.Args().Slice())
			printValues(in, commandNames(c.VisibleCommands()))
		},
	}
}

func manCommand(w world.World) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "Print the manual page", UsageText: "millhand man >~/.local/share/man/man1/millhand.1",
		Action: func(in *cli.Context) error {
			if err := noArguments("man", in.Args().Slice()); err != nil {
				return fault.Wrap(event.ExitUsage, err)
			}
			page, err := manual(in.App)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(w.Out, page)
			return err
		},
	}
}

// manual returns millhand(1), for which it changes the texts of the app: the library makes it from
// Markdown, and has only names and usages of commands.
func manual(app *cli.App) (string, error) {
	var b strings.Builder
	b.WriteString("millhand runs the tasks of YAML manifests as sessions of AI coding agents, verifies and commits the results, and reports every tool call and its cost. " +
		"Flags may come before or after the arguments. Results go to standard output, everything else to standard error.\n")
	b.WriteString("\n# EXIT STATUS\n")
	for _, e := range event.Exits() {
		fmt.Fprintf(&b, "\n**%d**\n: %s\n", e.Exit, literal(strings.ReplaceAll(e.Doc, "`", "")))
	}
	b.WriteString("\n# ENVIRONMENT\n\nMILLHAND\\_FLAG sets the flag of that name, with underscores for hyphens: MILLHAND\\_REPORT\\_DIR sets --report-dir.\n")
	for _, v := range variableDocs() {
		fmt.Fprintf(&b, "\n**%s**\n: %s\n", literal(strings.Join(v.names, ", ")), literal(v.text))
	}
	app.Description, app.UsageText = b.String(), "millhand COMMAND [flags]"
	withSynopses(app.Name, app.Commands)
	return app.ToManWithSection(1)
}

// withSynopses makes each command's usage its synopsis and description.
func withSynopses(path string, commands []*cli.Command) {
	for _, c := range commands {
		name := path + " " + c.Name
		c.Usage = fmt.Sprintf("**%s**\n\n%s", literal(strings.TrimSpace(name+" "+c.ArgsUsage)), literal(cmp.Or(c.Description, c.Usage+".")))
		withSynopses(name, c.Subcommands)
	}
}

// literal escapes a text for Markdown.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "|", `\|`).Replace(text)
}
