package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

// dispatch runs the command of the arguments. Commands and flags are values of
// urfave/cli, but its App does not run them: it prints help with text/template,
// for which the linker keeps every exported method of every type of the program.
func dispatch(ctx context.Context, root *cli.Command, args []string, getenv func(string) string, out io.Writer) error {
	c, path, args, err := find(root, args)
	if err != nil {
		return err
	}
	set, variables, err := readFlags(c, args, getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return writeHelp(out, path, c)
	case err != nil:
		return fail(event.ExitUsage, "%w; see '%s --help'", ofOthers(err, root), strings.Join(path, " "))
	}
	in := cli.NewContext(nil, set, nil)
	in.Context, in.Command = context.WithValue(ctx, argsKey{}, append(variables, args...)), c
	return c.Action(in)
}

// argsKey is the key of a context's value: the arguments of the command, with its flags, also those
// that variables have set.
type argsKey struct{}

// find returns the command that the first arguments name, its path, and the
// remaining arguments.
func find(root *cli.Command, args []string) (c *cli.Command, path, rest []string, err error) {
	c, path = root, []string{root.Name}
	for len(args) > 0 && len(c.Subcommands) > 0 && !strings.HasPrefix(args[0], "-") {
		next := c.Command(args[0])
		if next == nil && c.ArgsUsage != "" { // the command has both
			break
		}
		if next == nil {
			return nil, nil, nil, fail(event.ExitUsage, "unknown command %q%s; see '%s --help'",
				strings.Join(append(path[1:], args[0]), " "), near(args[0], commandNames(c)), strings.Join(path, " "))
		}
		c, path, args = next, append(path, args[0]), args[1:]
	}
	return c, path, args, nil
}

// readFlags sets the flags of a command from its arguments, at any position, and
// from the environment. The set has the remaining arguments, and variables the flags that the
// environment has set, as arguments. The error is [flag.ErrHelp] if the user requests help.
func readFlags(c *cli.Command, args []string, getenv func(string) string) (set *flag.FlagSet, variables []string, err error) {
	set = flag.NewFlagSet(c.Name, flag.ContinueOnError)
	for _, f := range c.Flags {
		if err := f.Apply(set); err != nil {
			return nil, nil, err
		}
	}
	rest, given := args, map[cli.Flag]bool{}
	if !c.SkipFlagParsing {
		if rest, err = setFlags(set, c, args, given); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range c.Flags {
		name := variable(f)
		if value := getenv(name); name != "" && value != "" && !given[f] {
			if err := set.Set(f.Names()[0], value); err != nil {
				return nil, nil, fmt.Errorf("invalid value %q for %s: %w", value, name, err)
			}
			variables = append(variables, "--"+f.Names()[0]+"="+value)
		}
	}
	return set, variables, set.Parse(append([]string{"--"}, rest...))
}

// setFlags sets the flags in the arguments, and returns the other arguments.
func setFlags(set *flag.FlagSet, c *cli.Command, args []string, given map[cli.Flag]bool) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		at := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		switch {
		case at < 0 && (name == "help" || name == "h"):
			return nil, flag.ErrHelp
		case at < 0:
			return nil, unknownFlag{arg, name, near("--"+name, flagNames(c))}
		case hasValue:
		case !acceptsValue(c.Flags[at]):
			value = "true"
		case len(args) == 0:
			return nil, fmt.Errorf("flag needs an argument: %s", arg)
		default:
			value, args = args[0], args[1:]
		}
		if err := set.Set(c.Flags[at].Names()[0], value); err != nil {
			return nil, fmt.Errorf("invalid value %q for %s: %w", value, "--"+c.Flags[at].Names()[0], err)
		}
		given[c.Flags[at]] = true
	}
	return rest, nil
}

// unknownFlag is the error for a flag that a command does not have.
type unknownFlag struct{ arg, name, suggestion string }

func (u unknownFlag) Error() string { return "unknown flag " + u.arg + u.suggestion }

// ofOthers adds the commands that have the flag to the error for an unknown flag.
func ofOthers(err error, root *cli.Command) error {
	var unknown unknownFlag
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	var look func(path string, c *cli.Command)
	look = func(path string, c *cli.Command) {
		if slices.Contains(flagNames(c)[1:], "--"+unknown.name) {
			names = append(names, "'"+path+"'")
		}
		for _, s := range c.Subcommands {
			if !s.Hidden {
				look(path+" "+s.Name, s)
			}
		}
	}
	look(root.Name, root)
	if len(names) > 0 {
		unknown.suggestion = ", which is a flag of " + strings.Join(names, ", ")
	}
	return unknown
}

// noVariable is EnvVars of a flag that no environment variable can set.
func noVariable() []string { return []string{""} }

// variable returns the name of the environment variable that sets a flag. An empty
// variable doesn't, because a CI passes omitted inputs as empty variables.
func variable(f cli.Flag) string {
	if d, ok := f.(cli.DocGenerationFlag); ok && len(d.GetEnvVars()) > 0 {
		return d.GetEnvVars()[0]
	}
	return "MILLHAND_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
}

func acceptsValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func flagNames(c *cli.Command) []string {
	names := []string{"--help"}
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() {
			names = append(names, "--"+f.Names()[0])
		}
	}
	return names
}

func commandNames(c *cli.Command) []string {
	var names []string
	for _, s := range c.Subcommands {
		if !s.Hidden {
			names = append(names, s.Name)
		}
	}
	return names
}

// near returns "; did you mean X?" for the name most similar to the word, or "" if
// none is similar.
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

// misspeltVariables returns warnings about variables whose names are similar to those that
// set flags. Others that start with MILLHAND_ may be those of another program.
func misspeltVariables(root *cli.Command, names []string) []string {
	var known []string
	for _, v := range variableDocs() {
		known = append(known, v.names...)
	}
	var add func(c *cli.Command)
	add = func(c *cli.Command) {
		for _, f := range c.Flags {
			known = append(known, variable(f))
		}
		for _, s := range c.Subcommands {
			add(s)
		}
	}
	add(root)
	var list []string
	for _, name := range names {
		if !strings.HasPrefix(name, "MILLHAND_") || slices.Contains(known, name) {
			continue
		}
		for _, k := range known {
			if levenshtein.ComputeDistance(name, k) <= 2 {
				list = append(list, fmt.Sprintf("the variable %s sets nothing; did you mean %s?", name, k))
				break
			}
		}
	}
	return list
}
