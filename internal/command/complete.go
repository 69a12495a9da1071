package command

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// The scripts ask the library for candidates. Its own for bash evaluates the words of the command
// line, which runs a command substitution among them, and that for zsh shows no descriptions.
var (
	//go:embed completion/millhand.bash
	bashCompletion string
	//go:embed completion/millhand.zsh
	zshCompletion string
)

func shells() []string { return []string{"bash", "zsh", "fish"} }

func completionCommand(w world.World) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "Print the completion script of a shell", ArgsUsage: strings.Join(shells(), "|"),
		Description: "Prints the completion script of a shell. Add one of the examples to the shell's start-up file.",
		UsageText: "source <(millhand completion bash)      # ~/.bashrc\n" +
			"source <(millhand completion zsh)       # ~/.zshrc, after compinit\n" +
			"millhand completion fish | source       # ~/.config/fish/config.fish",
		Action: func(in *cli.Context) error {
			scripts := map[string]func() (string, error){
				"bash": func() (string, error) { return bashCompletion, nil },
				"zsh":  func() (string, error) { return zshCompletion, nil },
				"fish": in.App.ToFishCompletion,
			}
			script, ok := scripts[in.Args().First()]
			if !ok || in.NArg() != 1 {
				return fault.New(event.ExitUsage, "completion requires one shell: %s", strings.Join(shells(), ", "))
			}
			text, err := script()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(w.Out, strings.ReplaceAll(text, "`", "")) // which mark placeholders
			return err
		},
		BashComplete: completes(shells),
	}
}

// completes returns the completion of a command with known arguments.
func completes(values func() []string) cli.BashCompleteFunc {
	return func(in *cli.Context) {
		if in.NArg() == 0 {
			printValues(in, values())
		}
	}
}

// printValues prints candidates, and the flags of the command if the last word is one.
func printValues(in *cli.Context, values []string) {
	cli.DefaultCompleteWithFlags(in.Command)(in)
	for _, v := range values {
		fmt.Fprintln(in.App.Writer, v)
	}
}
