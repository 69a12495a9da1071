package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

// arrange puts the flags of a command line before its arguments, which is the
// only order that the library reads: behind an argument it would silently take
// a flag for another argument. It also finds what the library would mistake: a
// command that does not exist, a flag that does not.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	out := args[:1:1]
	rest := args[1:]
	commands, path := app.Commands, []string{}
	var current *cli.Command
	for len(rest) > 0 && len(commands) > 0 && !strings.HasPrefix(rest[0], "-") {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(rest[0]) })
		if i < 0 {
			return nil, fail(event.ExitUsage, "there is no command %q%s; millhand --help lists the commands", strings.Join(append(path, rest[0]), " "), near(rest[0], commandNames(commands)))
		}
		current, commands = commands[i], commands[i].Subcommands
		out, path, rest = append(out, rest[0]), append(path, rest[0]), rest[1:]
	}
	if current == nil || current.SkipFlagParsing {
		return append(out, rest...), nil
	}
	flags, plain, err := split(current, rest)
	if err != nil {
		return nil, fail(event.ExitUsage, "%s: %w; millhand %[1]s --help lists the flags", strings.Join(path, " "), err)
	}
	out = append(out, flags...)
	return append(append(out, "--"), plain...), nil
}

// split parts flags, with their values, from arguments.
func split(c *cli.Command, rest []string) (flags, plain []string, err error) {
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		switch {
		case arg == "--":
			return flags, append(plain, rest[i+1:]...), nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			plain = append(plain, arg)
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := flagOf(c, name)
		if f == nil {
			return nil, nil, fmt.Errorf("there is no flag %s%s", arg, near("--"+name, flagNames(c)))
		}
		flags = append(flags, arg)
		if takesValue(f) && !hasValue {
			if i++; i == len(rest) {
				return nil, nil, fmt.Errorf("the flag %s wants a value", arg)
			}
			flags = append(flags, rest[i])
		}
	}
	return flags, plain, nil
}

func flagOf(c *cli.Command, name string) cli.Flag {
	if name == "help" || name == "h" {
		return cli.HelpFlag
	}
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	_, isBool := f.(*cli.BoolFlag)
	return !isBool
}

func flagNames(c *cli.Command) []string {
	var names []string
	for _, f := range c.Flags {
		names = append(names, "--"+f.Names()[0])
	}
	return names
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// near returns "; did you mean X?" for the name that resembles the word most,
// if one does.
func near(word string, names []string) string {
	best, distance := "", min(len(word)/2+2, 4)
	for _, n := range names {
		if d := levenshtein.ComputeDistance(word, n); d < distance {
			best, distance = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// finishCommands gives every flag its environment variable, and every command
// the habits that the library leaves open.
func finishCommands(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelpCommand = true
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
			return fail(event.ExitUsage, "%s: %w", c.Name, err)
		}
		if len(c.Subcommands) > 0 {
			c.Action = func(*cli.Context) error {
				return fail(event.ExitUsage, "%s wants a subcommand: %s", c.Name, strings.Join(commandNames(c.Subcommands), ", "))
			}
		}
		for _, f := range c.Flags {
			addEnv(f)
		}
		finishCommands(c.Subcommands)
	}
}

// addEnv lets MILLHAND_NAME stand in for --name. A variable that is set to
// nothing counts as not set: that is how a CI passes an input left out.
func addEnv(f cli.Flag) {
	env := []string{"MILLHAND_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))}
	if v, set := os.LookupEnv(env[0]); set && v == "" {
		return
	}
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = env
	case *cli.StringSliceFlag:
		f.EnvVars = env
	case *cli.BoolFlag:
		f.EnvVars = env
	case *cli.IntFlag:
		if len(f.EnvVars) == 0 { // none stands in for this one
			f.EnvVars = env
		}
	case *cli.Float64Flag:
		f.EnvVars = env
	case *cli.DurationFlag:
		f.EnvVars = env
	}
}
