package option

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Field is an option with a name, by which the flag of a command line and a saved invocation set it.
type Field struct {
	Name    string
	Short   string // another name, of one letter; "" for none
	Group   string
	Usage   string // with the name of the value in backquotes
	Default string // what help shows as the default; "" for the value that the option has
	NoVar   bool   // no variable of the environment sets it
	To      any    // *bool, *string or a [Value]
}

// Value is set to texts.
type Value interface {
	Set(text string) error
	String() string
}

// isSwitch reports whether the option has no value besides being set.
func (f Field) isSwitch() bool {
	_, ok := f.To.(*bool)
	return ok
}

func (f Field) set(text string) error {
	switch to := f.To.(type) {
	case *bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		*to = on
		return nil
	case *string:
		*to = text
		return nil
	case Value:
		return to.Set(text)
	}
	return fmt.Errorf("no text sets a %T", f.To)
}

// text returns the value of the option.
func (f Field) text() string {
	switch to := f.To.(type) {
	case *bool:
		return strconv.FormatBool(*to)
	case *string:
		return *to
	}
	return fmt.Sprint(f.To)
}

// Read sets fields from the arguments of a saved invocation, in which options are before and after other arguments, as on the
// command line. It returns the others, and the values of the options that it has set, by name.
func Read(fields []Field, args []string) (others []string, set map[string]string, err error) {
	set = map[string]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(others, args...), set, nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			others = append(others, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		at := slices.IndexFunc(fields, func(f Field) bool { return name != "" && (name == f.Name || name == f.Short) })
		switch {
		case at < 0:
			return nil, nil, fmt.Errorf("unknown flag %s", arg)
		case hasValue:
		case fields[at].isSwitch():
			value = "true"
		case len(args) == 0:
			return nil, nil, fmt.Errorf("flag needs an argument: %s", arg)
		default:
			value, args = args[0], args[1:]
		}
		f := fields[at]
		if err := f.set(value); err != nil {
			return nil, nil, fmt.Errorf("invalid value %q for --%s: %w", value, f.Name, err)
		}
		set[f.Name] = f.text()
	}
	return others, set, nil
}
