package command

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// The scripts ask the hidden command for candidates, so that a script that was saved once
// completes the commands and flags of later versions.
var (
	//go:embed completion/millhand.bash
	bashCompletion string
	//go:embed completion/millhand.zsh
	zshCompletion string
	//go:embed completion/millhand.fish
	fishCompletion string
)

func shells() []string { return []string{"bash", "zsh", "fish"} }

func completionCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "Print the completion script of a shell", ArgsUsage: strings.Join(shells(), "|"),
		Description: "Prints the completion script of a shell. Add one of the examples to the shell's start-up file.",
		UsageText:   "source <(millhand completion bash)      # ~/.bashrc\nsource <(millhand completion zsh)       # ~/.zshrc, after compinit\nmillhand completion fish | source       # ~/.config/fish/config.fish",
		Action: func(in *cli.Context) error {
			script, ok := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[in.Args().First()]
			if !ok || in.NArg() != 1 {
				return fail(event.ExitUsage, "completion requires one shell: %s", strings.Join(shells(), ", "))
			}
			_, err := fmt.Fprint(w.Out, script)
			return err
		},
	}
}

// completeCommand prints the candidates for the last argument, the word at the cursor:
// one on each line, with a tab and its description.
func completeCommand(root *cli.Command, w World) *cli.Command {
	return &cli.Command{
		Name: "__complete", Usage: "Print candidates for completion scripts", Hidden: true, SkipFlagParsing: true,
		Action: func(in *cli.Context) error {
			for _, r := range candidates(root, in.Args().Slice()) {
				if _, err := fmt.Fprintf(w.Out, "%s\t%s\n", r.name, r.text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// candidates returns what the last of the words can be completed to; nothing if it is the
// name of a file, or a value that only the user knows.
func candidates(root *cli.Command, words []string) []row {
	if len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	c, path, rest, err := find(root, before)
	if err != nil {
		return nil
	}
	var all []row
	switch {
	case len(rest) > 0 && needsValue(c, rest[len(rest)-1]):
	case strings.HasPrefix(last, "-"):
		for _, f := range c.Flags {
			if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() {
				for _, name := range f.Names() {
					all = append(all, row{name: dashes(name) + name, text: flagRow(f).text})
				}
			}
		}
		all = append(all, row{name: "--help", text: "Show help for the command"})
	default:
		all = arguments(root, c, path, rest)
	}
	return slices.DeleteFunc(all, func(r row) bool { return !strings.HasPrefix(r.name, last) })
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-"
	}
	return "--"
}

// needsValue returns whether a word is a flag of the command whose value is the next word.
func needsValue(c *cli.Command, word string) bool {
	at := slices.IndexFunc(c.Flags, func(f cli.Flag) bool {
		return slices.ContainsFunc(f.Names(), func(name string) bool { return word == dashes(name)+name })
	})
	return at >= 0 && acceptsValue(c.Flags[at])
}

// arguments returns the known values of the argument after rest.
func arguments(root, c *cli.Command, path, rest []string) []row {
	switch strings.Join(path, " ") {
	case "millhand completion":
		return rows(shells())
	case "millhand schema":
		return rows(schemas())
	case "millhand explain":
		return keyRows(tasks.Keys())
	case "millhand help":
		c, _, rest, _ = find(root, rest)
		if c == nil {
			return nil
		}
	}
	if len(rest) > 0 {
		return nil
	}
	var all []row
	for _, s := range c.Subcommands {
		if !s.Hidden {
			all = append(all, row{name: s.Name, text: s.Usage})
		}
	}
	return all
}

func keyRows(all []tasks.Key) []row {
	var list []row
	for _, k := range all {
		list = append(list, row{name: strings.ReplaceAll(k.Path, "[]", ""), text: k.Doc})
	}
	return list
}

func rows(names []string) []row {
	all := make([]row, len(names))
	for i, name := range names {
		all[i] = row{name: name}
	}
	return all
}
