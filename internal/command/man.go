package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

func manCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "Print the manual page", UsageText: "millhand man >~/.local/share/man/man1/millhand.1",
		Action: func(in *cli.Context) error {
			if err := noArguments("man", in.Args().Slice()); err != nil {
				return failure{event.ExitUsage, err}
			}
			return writeMan(w.Out, newRoot(w))
		},
	}
}

// writeMan writes millhand(1) for the macros of man(7): every command with its flags.
func writeMan(out io.Writer, root *cli.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH MILLHAND 1 \"\" \"%s\" \"User Commands\"\n", roff("millhand "+version()))
	fmt.Fprintf(&b, ".SH NAME\nmillhand \\- %s\n", roff(root.Usage))
	b.WriteString(".SH SYNOPSIS\n.B millhand\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n")
	b.WriteString(roff("millhand runs the tasks of YAML manifests as sessions of AI coding agents, verifies and commits the results, and reports every tool call and its cost. "+
		"Flags may come before or after the arguments. Results go to standard output, everything else to standard error.") + "\n")
	b.WriteString(".SH COMMANDS\n")
	for _, c := range root.Subcommands {
		if !c.Hidden {
			manOf(&b, []string{root.Name, c.Name}, c)
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range event.Exits() {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", e.Exit, roff(strings.ReplaceAll(e.Doc, "`", "")))
	}
	b.WriteString(".SH ENVIRONMENT\n" + roff("MILLHAND_FLAG sets the flag of that name, with underscores for hyphens: MILLHAND_REPORT_DIR sets --report-dir.") + "\n")
	for _, v := range variableDocs() {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.Join(v.names, ", ")), roff(v.text))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// manOf writes a command and its subcommands.
func manOf(b *strings.Builder, path []string, c *cli.Command) {
	if c.Action != nil && (len(c.Subcommands) == 0 || c.ArgsUsage != "") {
		fmt.Fprintf(b, ".SS %s\n%s\n", roff(strings.TrimSpace(strings.Join(path, " ")+" "+c.ArgsUsage)), roff(cmp.Or(c.Description, c.Usage+".")))
		for _, f := range c.Flags {
			if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() {
				r := flagRow(f)
				fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(r.name)), roff(r.text))
			}
		}
		if c.UsageText != "" {
			fmt.Fprintf(b, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(c.UsageText))
		}
	}
	for _, s := range c.Subcommands {
		if !s.Hidden {
			manOf(b, append(path[:len(path):len(path)], s.Name), s)
		}
	}
}

// roff escapes a text: hyphens that can be copied, and no line that is a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
