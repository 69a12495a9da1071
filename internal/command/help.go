package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// row is a line of help: a command or flag with its description.
type row struct{ group, name, text string }

// writeHelp prints a command's description, usage, subcommands, flags by category,
// and its UsageText as examples.
func writeHelp(out io.Writer, path []string, c *cli.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUSAGE\n  %s", cmp.Or(c.Description, c.Usage+"."), strings.Join(path, " "))
	switch {
	case len(c.Subcommands) > 0 && c.ArgsUsage != "":
		fmt.Fprintf(&b, " [flags] %s\n  %s COMMAND [flags]\n", c.ArgsUsage, strings.Join(path, " "))
	case len(c.Subcommands) > 0:
		b.WriteString(" COMMAND [flags]\n")
	case c.ArgsUsage != "":
		b.WriteString(" [flags] " + c.ArgsUsage + "\n")
	default:
		b.WriteString(" [flags]\n")
	}
	rows := helpRows(c)
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	for len(rows) > 0 {
		group := rows[0].group
		fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(group))
		rows = slices.DeleteFunc(rows, func(r row) bool {
			if r.group == group {
				fmt.Fprintf(&b, "  %-*s  %s\n", width, r.name, r.text)
			}
			return r.group == group
		})
	}
	if c.UsageText != "" {
		fmt.Fprintf(&b, "\nEXAMPLES\n  %s\n", strings.ReplaceAll(c.UsageText, "\n", "\n  "))
	}
	if len(c.Subcommands) > 0 {
		fmt.Fprintf(&b, "\nUse \"%s COMMAND --help\" for the flags of a command.\n", strings.Join(path, " "))
	} else if len(c.Flags) > 0 {
		b.WriteString("\nEnvironment variables can set flags, for example MILLHAND_REPORT_DIR sets --report-dir.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// groups are those of the commands that fewer users need, and what they are for.
var groups = []struct{ name, text string }{
	{"fleet", "Care for many pull requests"},
	{"scale", "Run jobs on several machines"},
	{"check", "Test rules, calls and evidence"},
	{"reference", "Print what there is"},
}

// helpRows lists visible subcommands and flags in the order of their definition. The commands of a
// group are one row.
func helpRows(c *cli.Command) []row {
	var rows []row
	members := map[string][]string{}
	for _, s := range c.Subcommands {
		switch {
		case s.Hidden:
		case s.Category != "":
			members[s.Category] = append(members[s.Category], s.Name)
		default:
			rows = append(rows, row{"commands", s.Name, s.Usage})
		}
	}
	for _, g := range groups {
		if of := members[g.name]; len(of) > 0 {
			rows = append(rows, row{"more commands", g.name, g.text + ": " + strings.Join(of, ", ")})
		}
	}
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() {
			rows = append(rows, flagRow(f))
		}
	}
	return append(rows, row{"flags", "-h, --help", "Show help for the command"})
}

// flagRow describes a flag. The text in backquotes in its usage is the placeholder
// of its value.
func flagRow(f cli.Flag) row {
	r := row{group: "flags"}
	var short, long string
	for _, name := range f.Names() {
		if len(name) == 1 {
			short = "-" + name + ", "
		} else if long == "" {
			long = "--" + name
		}
	}
	r.name = fmt.Sprintf("%4s%s", short, long)
	if of, ok := f.(cli.CategorizableFlag); ok {
		r.group = cmp.Or(of.GetCategory(), r.group)
	}
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return r
	}
	r.text = d.GetUsage()
	if before, rest, ok := strings.Cut(r.text, "`"); ok {
		placeholder, after, _ := strings.Cut(rest, "`")
		r.name, r.text = r.name+" "+placeholder, before+placeholder+after
	}
	if value := strings.Trim(d.GetDefaultText(), `"`); !slices.Contains([]string{"", "-1", "0", "0s", "false"}, value) {
		r.text += " (default: " + value + ")"
	}
	return r
}

// helpCommand prints the help of the command named by its arguments.
func helpCommand(root *cli.Command, out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "Show help for a command", ArgsUsage: "[COMMAND...]",
		Action: func(in *cli.Context) error {
			c, path, _, err := find(root, in.Args().Slice())
			if err != nil {
				return err
			}
			return writeHelp(out, path, c)
		},
	}
}
