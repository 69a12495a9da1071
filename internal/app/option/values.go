// Package option has the options of use cases as tables of fields with names, from which the flags of the command line are made and
// by which saved invocations are read back. It knows neither use cases nor the library that parses command lines.
package option

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// The groups of the options of a plan and a run.
const (
	Tasks       = "TASK FLAGS"
	Limits      = "LIMIT FLAGS"
	Permissions = "PERMISSION FLAGS"
	Outputs     = "OUTPUT FLAGS"
	Prompts     = "PROMPT FLAGS"
	Advanced    = "ADVANCED FLAGS" // of run, those that few users need
)

// Texts is the value of a repeatable flag.
type Texts []string

// Set adds a value.
func (v *Texts) Set(value string) error {
	*v = append(*v, value)
	return nil
}

func (v *Texts) String() string {
	if v == nil {
		return ""
	}
	return strings.Join(*v, ", ")
}

// Parsed is the value of a flag with its own parser.
type Parsed[T comparable] struct {
	to    *T
	parse func(string) (T, error)
}

// Of returns the value of an option with its own parser.
func Of[T comparable](to *T, parse func(string) (T, error)) *Parsed[T] {
	return &Parsed[T]{to, parse}
}

// Set parses a value.
func (p *Parsed[T]) Set(text string) error {
	value, err := p.parse(text)
	if err == nil {
		*p.to = value
	}
	return err
}

// String formats the value, "" for the zero value.
func (p *Parsed[T]) String() string {
	if p.to == nil || *p.to == *new(T) {
		return ""
	}
	return fmt.Sprint(*p.to)
}

// AtLeastOne parses a number of things.
func AtLeastOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("must be an integer greater than 0")
	}
	return n, nil
}

// Dollars parses a limit of the cost.
func Dollars(text string) (money.USD, error) {
	usd, err := money.ParseLimit(text)
	if err != nil || usd <= 0 {
		return 0, errors.New("must be an amount greater than 0, for example 2.50")
	}
	return usd, nil
}

// Period parses a limit of the time.
func Period(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration greater than 0, for example 90m")
	}
	return d, nil
}

// Variables is the value of --var.
type Variables struct{ To *map[string]string }

// Set parses NAME=VALUE.
func (v Variables) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("must be NAME=VALUE")
	}
	if *v.To == nil {
		*v.To = map[string]string{}
	}
	(*v.To)[name] = value
	return nil
}

func (v Variables) String() string {
	if v.To == nil {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(*v.To)) {
		list = append(list, name+"="+(*v.To)[name])
	}
	return strings.Join(list, ", ")
}

// Text is the value of a flag that can be empty and set.
type Text struct{ To **string }

// Set sets the value.
func (t Text) Set(text string) error {
	*t.To = &text
	return nil
}

func (t Text) String() string {
	if t.To == nil || *t.To == nil {
		return ""
	}
	return **t.To
}
