// Package fault has the errors of use cases with their kind, which is an exit code of the
// contract. A use case decides the kind; [ExitOf] is that of any error and of a signal; the command line prints the message and
// exits. It knows neither the use cases nor what a command does about an error.
package fault

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
)

// Error is an error with its kind. Its message is empty if the user has seen it already.
type Error struct {
	Kind event.Exit
	Err  error // nil without a message
}

func (e Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e Error) Unwrap() error { return e.Err }

// New returns an error of a kind with a formatted message.
func New(kind event.Exit, format string, args ...any) error {
	return Error{kind, fmt.Errorf(format, args...)}
}

// Wrap gives an error a kind.
func Wrap(kind event.Exit, err error) error { return Error{kind, err} }

// Silent returns an error of a kind without a message; nil for ExitOK.
func Silent(kind event.Exit) error {
	if kind == event.ExitOK {
		return nil
	}
	return Error{Kind: kind}
}

// KeyError is the error of a model whose provider requires a key that is not set.
type KeyError struct {
	Model     string   // as in the manifest
	Variables []string // environment variables that can hold the key
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("missing API key for %s: set the environment variable %s", e.Model, strings.Join(e.Variables, " or "))
}
