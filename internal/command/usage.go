package command

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

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

// nearFlag and nearCommand suggest what the library does, if it is similar: it always has a suggestion.
func nearFlag(name string, flags []cli.Flag) string {
	suggested := strings.TrimLeft(cli.SuggestFlag(flags, name, true), "-")
	if letters := strings.TrimRight(name, "0123456789"); letters != "" && strings.HasPrefix(suggested, letters) { // -j3, --out
		return "; did you mean --" + suggested + "?"
	}
	if best := problem.DidYouMean(name, []string{suggested}); best != "" {
		return "; did you mean --" + suggested + "?"
	}
	return ""
}

func nearCommand(name string, commands []*cli.Command) string {
	var suggested string
	if _, err := fmt.Sscanf(cli.SuggestCommand(commands, name), cli.SuggestDidYouMeanTemplate, &suggested); err != nil {
		return ""
	}
	return problem.DidYouMean(name, []string{suggested})
}
