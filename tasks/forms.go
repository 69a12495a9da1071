package tasks

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
	stringForm   = form[string]{Type{Name: "string"}, value.str}
	textForm     = form[text]{Type{Name: "string"}, value.filled}
	boolForm     = form[bool]{Type{Name: "boolean"}, readBool}
	durationForm = form[time.Duration]{Type{Name: "duration"}, readDuration}
	bytesForm    = form[int64]{Type{Name: "bytes"}, readBytes}
	tokensForm   = form[int64]{Type{Name: "integer", Min: 1}, readTokens}
	priceForm    = form[money.USD]{Type{Name: "USD"}, readPrice}
	costForm     = form[money.USD]{Type{Name: "USD"}, readCostLimit}
)

// positive is the form of an integer from 1.
func positive() form[int] { return between(1, math.MaxInt) }

// between is the form of an integer. math.MaxInt is no bound.
func between(least, most int) form[int] {
	f := form[int]{Type: Type{Name: "integer", Min: least, Max: most}}
	wanted := fmt.Sprintf("an integer from %d to %d", least, most)
	if most == math.MaxInt {
		f.Max, wanted = 0, fmt.Sprintf("an integer of at least %d", least)
	}
	f.read = func(v value) (int, bool) {
		n, err := strconv.Atoi(strings.ReplaceAll(v.node.Value, "_", ""))
		if v.isScalar() && v.node.ShortTag() == "!!int" && err == nil && n >= least && n <= most {
			return n, true
		}
		fix := "write a whole number without a unit"
		switch {
		case err == nil && n < least:
			fix = fmt.Sprintf("write %d or more", least)
		case err == nil && n > most:
			fix = fmt.Sprintf("write %d or less", most)
		case err == nil && v.isScalar():
			fix = fmt.Sprintf("write %d without quotes", n)
		}
		v.wrong(wanted, fix)
		return 0, false
	}
	return f
}

// readBool reads true or false. YAML 1.1's yes and no are not booleans.
func readBool(v value) (bool, bool) {
	if !v.isBoolean() {
		fix := "write true or false"
		switch strings.ToLower(v.node.Value) {
		case "yes", "on", "y", "1":
			fix = "write true"
		case "no", "off", "n", "0":
			fix = "write false"
		}
		v.wrong("true or false", fix)
		return false, false
	}
	return strings.EqualFold(v.node.Value, "true"), true
}

// readTokens reads a number of tokens.
func readTokens(v value) (int64, bool) {
	n, ok := positive().read(v)
	return int64(n), ok
}

// readPrice reads an amount in USD that is not negative.
func readPrice(v value) (money.USD, bool) { return readAmount(v, money.Parse) }

func readAmount(v value, parse func(string) (money.USD, error)) (money.USD, bool) {
	tag := v.node.ShortTag()
	usd, err := parse(strings.ReplaceAll(v.node.Value, "_", ""))
	if !v.isScalar() || tag != "!!int" && tag != "!!float" || err != nil || usd < 0 {
		v.wrong("an amount in USD", "write for example 1.50")
		return 0, false
	}
	return usd, true
}

// readCostLimit reads a limit in USD. Zero is refused because it could mean
// "nothing" and "no limit".
func readCostLimit(v value) (money.USD, bool) {
	usd, ok := readAmount(v, money.ParseLimit)
	if ok && usd == 0 {
		v.problem(v.name+" must be more than 0", "remove it for no limit")
		return 0, false
	}
	return usd, ok
}

// readDuration reads a time such as 20m or 1h30m, more than zero.
func readDuration(v value) (time.Duration, bool) {
	d, err := time.ParseDuration(v.node.Value)
	switch {
	case !v.isScalar() || err != nil:
		v.wrong("a duration", "write it with its unit, such as 90s, 20m or 1h30m")
	case d <= 0:
		v.problem(v.name+" must be more than 0", "write for example 20m")
	default:
		return d, true
	}
	return 0, false
}

// The limits of sizes, in bytes.
const leastBytes, mostBytes = 1e6, 1e15

// readBytes reads a number of bytes such as 500MB or 8GiB, at least a million.
func readBytes(v value) (int64, bool) {
	n, ok := parseBytes(v.node.Value)
	switch {
	case !v.isScalar() || !ok:
		v.wrong("a size", "write it with its unit, such as 500MB, 8GB or 2GiB")
	case !(n >= leastBytes && n <= mostBytes):
		v.problem(v.name+" must be from 1MB to 1000TB", "write for example 8GB")
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

// scalarType is the type of a string that may be written as a number or boolean.
func scalarType() Type { return Type{Name: "string", Scalar: true} }

// optional is a form whose value may be missing, which is nil.
func optional[T any](f form[T]) form[*T] {
	return form[*T]{f.Type, func(v value) (*T, bool) {
		got, ok := f.read(v)
		return pointer(got, ok), ok
	}}
}

// pointer returns a pointer to a value, or nil if it could not be read.
func pointer[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// listOf is the form of a list.
func listOf[T any](f form[T]) form[[]T] {
	return form[[]T]{Type{Name: "list", Elem: &f.Type}, list(f.read)}
}

// orOne is the form of a list of commands, or of a single command line.
func orOne[T any](f form[T]) form[[]T] {
	all := upTo(maxCommands, listOf(f))
	read := all.read
	all.Or = new(scalarType())
	all.read = func(v value) ([]T, bool) {
		if !v.isScalar() || v.null() {
			return read(v)
		}
		one, ok := f.read(v)
		return []T{one}, ok
	}
	return all
}

// mapOf describes a map from names to values of a type; read reads all of it.
func mapOf[T any](names string, of Type, read func(value) (T, bool)) form[T] {
	return form[T]{Type{Name: "map", Names: names, Elem: &of}, read}
}

// flat is the form of a list whose entries are read as several values each.
func flat[T any](f form[[]T]) form[[]T] {
	read := list(f.read)
	return form[[]T]{Type{Name: "list", Elem: &f.Type}, func(v value) ([]T, bool) {
		lists, ok := read(v)
		return slices.Concat(lists...), ok
	}}
}

// upTo limits the length of a list, as every job has a copy of it.
func upTo[T any](most int, f form[[]T]) form[[]T] {
	read := f.read
	f.read = func(v value) ([]T, bool) {
		if len(v.node.Content) > most {
			v.problem(fmt.Sprintf("%s has more than %d entries", v.name, most), "make it shorter")
			return nil, false
		}
		return read(v)
	}
	return f
}

// mapping is the form of a mapping with a table of keys.
func mapping[T any](of func(*T) keys) form[T] {
	return form[T]{typeOf(of), func(v value) (T, bool) {
		var x T
		of(&x).read(v)
		return x, true
	}}
}

// typeOf describes a mapping with a table of keys.
func typeOf[T any](of func(*T) keys) Type {
	return Type{Name: "mapping", keys: func() keys { return of(new(T)) }}
}

// enum is the form of one of several words.
func enum(words ...string) form[string] {
	return form[string]{Type{Name: "enum", Values: words}, func(v value) (string, bool) {
		t, ok := v.filled()
		if ok && !slices.Contains(words, t.s) {
			v.problem(fmt.Sprintf("%s must be one of %s, not %s", v.name, strings.Join(words, ", "), problem.Quote(t.s)), cmp.Or(problem.Suggestion(t.s, words), "write one of them"))
			ok = false
		}
		return t.s, ok
	}}
}

// oneOf is the form of one of several words, the first of which is the default,
// and also written "". Later words are known, but not supported by this release.
func oneOf[T ~string](words []T, later ...string) form[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	fix := "write " + strings.Join(known, ", ") + ", or remove it"
	return form[T]{Type{Name: "enum", Values: known, NotSupported: later}, func(v value) (T, bool) {
		t, ok := v.text()
		switch {
		case !ok:
		case t.s == "":
			return words[0], true
		case slices.Contains(known, t.s):
			return T(t.s), true
		case slices.Contains(later, t.s):
			v.problem(fmt.Sprintf("%s: %s is not supported yet", strings.Trim(v.name, `"`), t.s), fix)
		default:
			v.problem(fmt.Sprintf("%s must be one of %s, not %s", v.name, strings.Join(slices.Concat(known, later), ", "), problem.Quote(t.s)),
				cmp.Or(problem.Suggestion(t.s, known), fix))
		}
		return "", false
	}}
}

// listOr adds a list of a type as an alternative to it.
func (t Type) listOr() Type {
	one := t
	t.Or = &Type{Name: "list", Elem: &one}
	return t
}

const maxCommands = 100 // in setup or verify

// idForm is what ids of tasks and names of profiles look like.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
