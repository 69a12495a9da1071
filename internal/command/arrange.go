package command

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// commandLine are arguments in the order that urfave/cli requires: what follows the first argument of
// a command is no flag for it.
type commandLine struct {
	args      []string          // for the library: the program, the command, its flags, and after -- the other arguments
	own       []string          // of the command: flags that variables have set, and the arguments as the user gave them
	variables map[string]string // flag → the variable that has set it
	err       error             // why it can't be run
}

// completionFlag is the last argument if the library prints completions.
const completionFlag = "--generate-bash-completion"

// arrange moves the flags of a command line before its arguments, and adds those that the
// environment sets. The library parses them: arrange stops at a flag that it refuses.
func arrange(app *cli.App, args []string, getenv func(string) string) commandLine {
	c, rest := find(app, args)
	path := append([]string{app.Name}, args[:len(args)-len(rest)]...)
	if app.EnableBashCompletion && len(rest) > 0 && rest[len(rest)-1] == completionFlag {
		_, others, _ := split(c.Flags, rest[:len(rest)-1]) // the library fails for -q --quiet
		return commandLine{args: append(append(path, others...), completionFlag)}
	}
	unknown := len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && len(c.Subcommands) > 0 && c.ArgsUsage == ""
	if unknown || c.SkipFlagParsing {
		return commandLine{args: append(path, rest...), own: rest}
	}
	flags, others, complete := split(c.Flags, rest)
	line := commandLine{args: append(path, flags...), variables: map[string]string{}}
	if !complete {
		return line
	}
	if len(others) > 0 && c.Command(others[0]) != nil { // the library would run it, without its flags
		line.err = fault.New(event.ExitUsage, "write %s, which is a command, before flags and --: %s %s", others[0], strings.Join(path, " "), others[0])
		return line
	}
	for _, f := range c.Flags {
		name, by := f.Names()[0], variable(f)
		set := func(flag string) bool { return strings.HasPrefix(flag, "--"+name+"=") }
		if by != "" && getenv(by) != "" && !slices.ContainsFunc(flags, set) {
			line.variables[name] = by
			line.own = append(line.own, "--"+name+"="+getenv(by))
		}
	}
	line.args = slices.Concat(line.args, line.own, []string{"--"}, others)
	line.own = append(line.own, rest...)
	return line
}

// find returns the command that the first arguments name, and the remaining arguments.
func find(app *cli.App, args []string) (c *cli.Command, rest []string) {
	c = &cli.Command{Name: app.Name, Subcommands: app.Commands, Flags: app.Flags}
	for len(args) > 0 {
		next := c.Command(args[0])
		if next == nil {
			break
		}
		c, args = next, args[1:]
	}
	return c, args
}

// split returns the flags among arguments, as --name=value, and the others. The flags are not
// complete, and the last one is as the user gave it, if it requests help, is unknown or has no value.
func split(all []cli.Flag, args []string) (flags, others []string, complete bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return flags, append(others, args...), true
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			others = append(others, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		at := slices.IndexFunc(all, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		switch {
		case at < 0:
			return append(flags, arg), nil, false
		case all[at].Names()[0] == "help":
			return append(flags, "--help"), nil, false
		case hasValue:
		case !acceptsValue(all[at]):
			value = "true"
		case len(args) == 0:
			return append(flags, arg), nil, false
		default:
			value, args = args[0], args[1:]
		}
		flags = append(flags, "--"+all[at].Names()[0]+"="+value)
	}
	return flags, others, true
}

func acceptsValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// all returns commands with those below them.
func all(commands []*cli.Command) []*cli.Command {
	var list []*cli.Command
	for _, c := range commands {
		list = append(append(list, c), all(c.Subcommands)...)
	}
	return list
}

// runLine runs a command line, without the name of the program.
func runLine(ctx context.Context, app *cli.App, args []string, getenv func(string) string) error {
	line := arrange(app, args, getenv)
	if line.err != nil {
		return line.err
	}
	return app.RunContext(context.WithValue(ctx, lineKey{}, line), line.args)
}

// lineKey is the key of a context's value: the [commandLine].
type lineKey struct{}

// lineOf returns the command line that runs; the zero value without one.
func lineOf(ctx context.Context) commandLine {
	line, _ := ctx.Value(lineKey{}).(commandLine)
	return line
}

func noVariables(string) string { return "" }
