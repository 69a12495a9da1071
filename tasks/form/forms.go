package form

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks/problem"
)

// The forms of single values.
var (
	String   = Of[string]{Type{Name: "string"}, Value.Str}
	Filled   = Of[Text]{Type{Name: "string"}, Value.Filled}
	Bool     = Of[bool]{Type{Name: "boolean"}, ReadBool}
	Duration = Of[time.Duration]{Type{Name: "duration"}, ReadDuration}
	Bytes    = Of[int64]{Type{Name: "bytes"}, readBytes}
	Tokens   = Of[int64]{Type{Name: "integer", Min: 1}, readTokens}
	Price    = Of[money.USD]{Type{Name: "USD"}, readPrice}
	Cost     = Of[money.USD]{Type{Name: "USD"}, readCostLimit}
)

// Positive is the form of an integer from 1.
func Positive() Of[int] { return Between(1, math.MaxInt) }

// Between is the form of an integer. math.MaxInt is no bound.
func Between(least, most int) Of[int] {
	f := Of[int]{Type: Type{Name: "integer", Min: least, Max: most}}
	wanted := fmt.Sprintf("an integer from %d to %d", least, most)
	if most == math.MaxInt {
		f.Type.Max, wanted = 0, fmt.Sprintf("an integer of at least %d", least)
	}
	f.Read = func(v Value) (int, bool) {
		n, err := strconv.Atoi(strings.ReplaceAll(v.Node.Value, "_", ""))
		if v.IsScalar() && v.Node.ShortTag() == "!!int" && err == nil && n >= least && n <= most {
			return n, true
		}
		fix := "write a whole number without a unit"
		switch {
		case err == nil && n < least:
			fix = fmt.Sprintf("write %d or more", least)
		case err == nil && n > most:
			fix = fmt.Sprintf("write %d or less", most)
		case err == nil && v.IsScalar():
			fix = fmt.Sprintf("write %d without quotes", n)
		}
		v.Wrong(wanted, fix)
		return 0, false
	}
	return f
}

// ReadBool reads true or false. YAML 1.1's yes and no are not booleans.
func ReadBool(v Value) (bool, bool) {
	if !v.IsBoolean() {
		fix := "write true or false"
		switch strings.ToLower(v.Node.Value) {
		case "yes", "on", "y", "1":
			fix = "write true"
		case "no", "off", "n", "0":
			fix = "write false"
		}
		v.Wrong("true or false", fix)
		return false, false
	}
	return strings.EqualFold(v.Node.Value, "true"), true
}

// readTokens reads a number of tokens.
func readTokens(v Value) (int64, bool) {
	n, ok := Positive().Read(v)
	return int64(n), ok
}

// readPrice reads an amount in USD that is not negative.
func readPrice(v Value) (money.USD, bool) { return readAmount(v, money.Parse) }

func readAmount(v Value, parse func(string) (money.USD, error)) (money.USD, bool) {
	tag := v.Node.ShortTag()
	usd, err := parse(strings.ReplaceAll(v.Node.Value, "_", ""))
	if !v.IsScalar() || tag != "!!int" && tag != "!!float" || err != nil || usd < 0 {
		v.Wrong("an amount in USD", "write for example 1.50")
		return 0, false
	}
	return usd, true
}

// readCostLimit reads a limit in USD. Zero is refused because it could mean
// "nothing" and "no limit".
func readCostLimit(v Value) (money.USD, bool) {
	usd, ok := readAmount(v, money.ParseLimit)
	if ok && usd == 0 {
		v.Problem(v.Label+" must be more than 0", "remove it for no limit")
		return 0, false
	}
	return usd, ok
}

// ReadDuration reads a time such as 20m or 1h30m, more than zero.
func ReadDuration(v Value) (time.Duration, bool) {
	d, err := time.ParseDuration(v.Node.Value)
	switch {
	case !v.IsScalar() || err != nil:
		v.Wrong("a duration", "write it with its unit, such as 90s, 20m or 1h30m")
	case d <= 0:
		v.Problem(v.Label+" must be more than 0", "write for example 20m")
	default:
		return d, true
	}
	return 0, false
}

// The limits of sizes, in bytes.
const leastBytes, mostBytes = 1e6, 1e15

// readBytes reads a number of bytes such as 500MB or 8GiB, at least a million.
func readBytes(v Value) (int64, bool) {
	n, ok := parseBytes(v.Node.Value)
	switch {
	case !v.IsScalar() || !ok:
		v.Wrong("a size", "write it with its unit, such as 500MB, 8GB or 2GiB")
	case !(n >= leastBytes && n <= mostBytes):
		v.Problem(v.Label+" must be from 1MB to 1000TB", "write for example 8GB")
	default:
		return int64(n), true
	}
	return 0, false
}

// ParseBytes parses a number of bytes as manifests have them, such as 500MB or 8GiB.
func ParseBytes(text string) (int64, error) {
	n, ok := parseBytes(text)
	if !ok || !(n >= leastBytes && n <= mostBytes) {
		return 0, errors.New("must be a size from 1MB to 1000TB, for example 4GB")
	}
	return int64(n), nil
}

// parseBytes parses a number with the unit of a size.
func parseBytes(text string) (n float64, ok bool) {
	number := strings.TrimRight(text, "kKMGTiB")
	units := map[string]float64{"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
	unit, ok := units[text[len(number):]]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return n * unit, ok && err == nil
}

// ScalarType is the type of a string that may be written as a number or boolean.
func ScalarType() Type { return Type{Name: "string", Scalar: true} }

// Optional is a form whose value may be missing, which is nil.
func Optional[T any](f Of[T]) Of[*T] {
	return Of[*T]{f.Type, func(v Value) (*T, bool) {
		got, ok := f.Read(v)
		return Pointer(got, ok), ok
	}}
}

// Pointer returns a pointer to a value, or nil if it could not be read.
func Pointer[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// ListOf is the form of a list.
func ListOf[T any](f Of[T]) Of[[]T] {
	return Of[[]T]{Type{Name: "list", Elem: &f.Type}, List(f.Read)}
}

// OrOne is the form of a list of commands, or of a single command line.
func OrOne[T any](f Of[T]) Of[[]T] {
	all := UpTo(MaxCommands, ListOf(f))
	read := all.Read
	all.Type.Or = new(ScalarType())
	all.Read = func(v Value) ([]T, bool) {
		if !v.IsScalar() || v.Null() {
			return read(v)
		}
		one, ok := f.Read(v)
		return []T{one}, ok
	}
	return all
}

// MapOf describes a map from names to values of a type; read reads all of it.
func MapOf[T any](names string, of Type, read func(Value) (T, bool)) Of[T] {
	return Of[T]{Type{Name: "map", Names: names, Elem: &of}, read}
}

// Flat is the form of a list whose entries are read as several values each.
func Flat[T any](f Of[[]T]) Of[[]T] {
	read := List(f.Read)
	return Of[[]T]{Type{Name: "list", Elem: &f.Type}, func(v Value) ([]T, bool) {
		lists, ok := read(v)
		return slices.Concat(lists...), ok
	}}
}

// UpTo limits the length of a list, as every job has a copy of it.
func UpTo[T any](most int, f Of[[]T]) Of[[]T] {
	read := f.Read
	f.Read = func(v Value) ([]T, bool) {
		if len(v.Node.Content) > most {
			v.Problem(fmt.Sprintf("%s has more than %d entries", v.Label, most), "make it shorter")
			return nil, false
		}
		return read(v)
	}
	return f
}

// Mapping is the form of a mapping with a table of keys.
func Mapping[T any](of func(*T) Table) Of[T] {
	return Of[T]{TypeOf(of), func(v Value) (T, bool) {
		var x T
		of(&x).Read(v)
		return x, true
	}}
}

// TypeOf describes a mapping with a table of keys.
func TypeOf[T any](of func(*T) Table) Type {
	return Type{Name: "mapping", Keys: func() Table { return of(new(T)) }}
}

// Enum is the form of one of several words.
func Enum(words ...string) Of[string] {
	return Of[string]{Type{Name: "enum", Values: words}, func(v Value) (string, bool) {
		t, ok := v.Filled()
		if ok && !slices.Contains(words, t.S) {
			v.Problem(fmt.Sprintf("%s must be one of %s, not %s", v.Label, strings.Join(words, ", "), problem.Quote(t.S)), cmp.Or(problem.Suggestion(t.S, words), "write one of them"))
			ok = false
		}
		return t.S, ok
	}}
}

// OneOf is the form of one of several words, the first of which is the default,
// and also written "". Later words are known, but not supported by this release.
func OneOf[T ~string](words []T, later ...string) Of[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	fix := "write " + strings.Join(known, ", ") + ", or remove it"
	return Of[T]{Type{Name: "enum", Values: known, NotSupported: later}, func(v Value) (T, bool) {
		t, ok := v.Text()
		switch {
		case !ok:
		case t.S == "":
			return words[0], true
		case slices.Contains(known, t.S):
			return T(t.S), true
		case slices.Contains(later, t.S):
			v.Problem(fmt.Sprintf("%s: %s is not supported yet", strings.Trim(v.Label, `"`), t.S), fix)
		default:
			v.Problem(fmt.Sprintf("%s must be one of %s, not %s", v.Label, strings.Join(slices.Concat(known, later), ", "), problem.Quote(t.S)),
				cmp.Or(problem.Suggestion(t.S, known), fix))
		}
		return "", false
	}}
}

// ListOr adds a list of a type as an alternative to it.
func (t Type) ListOr() Type {
	one := t
	t.Or = &Type{Name: "list", Elem: &one}
	return t
}

// MaxCommands bounds lists of commands.
const MaxCommands = 100 // in setup or verify

// Identifier is what ids of tasks and names of profiles look like.
var Identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
