package command

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
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

// The errors of package flag.
var (
	undefinedFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	missingValue  = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	invalidValue  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^:]*): (.*)$`)
	})
)

// usageError returns the error for flags that the library refuses, with the fix.
func usageError(in *cli.Context, err error, _ bool) error {
	c, text := in.Command, err.Error()
	if m := undefinedFlag.FindStringSubmatch(text); m != nil {
		given := dashes(m[1])
		if args := lineOf(in.Context).args; len(args) > 0 {
			given = args[len(args)-1]
		}
		text = "unknown flag " + given + cmp.Or(commandsWith(in.App, m[1]), nearFlag(m[1], c.Flags), keyOf(m[1]))
	} else if m := missingValue.FindStringSubmatch(text); m != nil {
		text = "flag needs an argument: " + dashes(m[1])
	} else if m := invalidValue().FindStringSubmatch(text); m != nil {
		by, ok := lineOf(in.Context).variables[m[2]]
		if !ok {
			by = dashes(m[2])
		}
		text = fmt.Sprintf("invalid value %s for %s: %s", m[1], by, m[3])
	}
	return fault.New(event.ExitUsage, "%s; see '%s --help'", text, c.HelpName)
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// commandsWith names the commands that have a flag; "" if none has it.
func commandsWith(app *cli.App, flag string) string {
	var list []string
	var look func(path string, commands []*cli.Command)
	look = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			if !c.Hidden {
				name := path + " " + c.Name
				if slices.ContainsFunc(c.VisibleFlags(), func(f cli.Flag) bool { return f.Names()[0] == flag }) {
					list = append(list, "'"+name+"'")
				}
				look(name, c.Subcommands)
			}
		}
	}
	look(app.Name, app.Commands)
	if len(list) == 0 {
		return ""
	}
	return ", which is a flag of " + strings.Join(list, ", ")
}

// keyOf names the key of manifests that an unknown flag stands for; "" if it does for none.
func keyOf(flag string) string {
	found := form.MatchKeys(manifest.EveryKey(), strings.ReplaceAll(flag, "-", "_"))
	if len(found) == 0 || strings.ContainsAny(flag, "*?[.") {
		return ""
	}
	at := slices.MinFunc(found, func(a, b form.Key) int { return cmp.Compare(strings.Count(a.Path, "."), strings.Count(b.Path, ".")) })
	return ", which is the key " + strings.ReplaceAll(at.Path, "[]", "") + " of a manifest"
}

// noVariable is EnvVars of a flag that no environment variable can set.
func noVariable() []string { return []string{} }

// variable returns the name of the environment variable that sets a flag. An empty
// variable doesn't, because a CI passes omitted inputs as empty variables. EnvVars has none of these names,
// because the library would read the environment of the process.
func variable(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	switch {
	case ok && len(d.GetEnvVars()) > 0:
		return d.GetEnvVars()[0]
	case ok && d.GetEnvVars() != nil:
		return ""
	}
	return "MILLHAND_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
}

func acceptsValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// nearFlag and nearCommand suggest what the library does, if it is similar: it always has a suggestion.
func nearFlag(name string, flags []cli.Flag) string {
	suggested := strings.TrimLeft(cli.SuggestFlag(flags, name, true), "-")
	if letters := strings.TrimRight(name, "0123456789"); letters != "" && strings.HasPrefix(suggested, letters) { // -j3, --out
		return "; did you mean --" + suggested + "?"
	}
	if best := near(name, []string{suggested}); best != "" {
		return "; did you mean --" + suggested + "?"
	}
	return ""
}

func nearCommand(name string, commands []*cli.Command) string {
	var suggested string
	if _, err := fmt.Sscanf(cli.SuggestCommand(commands, name), cli.SuggestDidYouMeanTemplate, &suggested); err != nil {
		return ""
	}
	return near(name, []string{suggested})
}

// near returns "; did you mean X?" for the name most similar to the word, or "" if
// none is similar.
func near(word string, names []string) string {
	best, distance := "", min(len(word)/3+2, 4) // one edit of two letters, two of three, three of six
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
func misspeltVariables(app *cli.App, names []string) []string {
	var known []string
	for _, v := range variableDocs() {
		known = append(known, v.names...)
	}
	for _, c := range append(all(app.Commands), &cli.Command{Flags: app.Flags}) {
		for _, f := range c.Flags {
			known = append(known, variable(f))
		}
	}
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
