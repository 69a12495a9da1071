package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decimal is a number as its digits: neg digits × 10^exp. It has no size that an
// exponent in a document could make large. Digits start and end with no zero; zero
// has none.
type decimal struct {
	neg    bool
	digits string
	exp    int64
	text   string // as it was written
}

// hugeExponent limits exponents: numbers beyond it are equal to it.
const hugeExponent = 1 << 40

// number returns the decimal of a JSON value that is a number.
func number(v any) (decimal, bool) {
	switch v := v.(type) {
	case json.Number:
		return parseDecimal(string(v))
	case float64:
		return parseDecimal(strconv.FormatFloat(v, 'g', -1, 64))
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32:
		return parseDecimal(fmt.Sprint(v))
	}
	return decimal{}, false
}

func parseDecimal(text string) (decimal, bool) {
	d := decimal{text: text}
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		e, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil && !strings.HasSuffix(err.Error(), strconv.ErrRange.Error()) {
			return d, false
		}
		d.exp = max(-hugeExponent, min(hugeExponent, e)) // ParseInt returns the nearest
	}
	mantissa, d.neg = strings.CutPrefix(mantissa, "-")
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := integer + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return d, false
	}
	d.exp -= int64(len(fraction))
	d.digits = strings.TrimRight(digits, "0")
	d.exp += int64(len(digits) - len(d.digits))
	d.digits = strings.TrimLeft(d.digits, "0")
	if d.digits == "" {
		d.neg, d.exp = false, 0
	}
	return d, true
}

// integer reports whether the number is one. Numbers that no computation can hold are none.
func (d decimal) integer() bool { return d.exp >= 0 && d.exp < 1<<16 }

// key is equal for equal numbers.
func (d decimal) key() string {
	sign := ""
	if d.neg {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.FormatInt(d.exp, 10)
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// compare returns -1, 0 or 1, as cmp.Compare.
func (d decimal) compare(to decimal) int {
	if c := cmp.Compare(d.sign(), to.sign()); c != 0 || d.sign() == 0 {
		return c
	}
	c := cmp.Compare(int64(len(d.digits))+d.exp, int64(len(to.digits))+to.exp)
	if c == 0 {
		c = cmp.Compare(d.digits, to.digits) // a prefix is the smaller one
	}
	return c * d.sign()
}

// multipleOf reports whether the number is an integer multiple of another, which isn't zero.
func (d decimal) multipleOf(of decimal) bool {
	shift := d.exp - of.exp
	switch {
	case d.digits == "":
		return true
	case shift < 0:
		return false // its last digit isn't zero
	}
	n, _ := new(big.Int).SetString(d.digits, 10)
	m, _ := new(big.Int).SetString(of.digits, 10)
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), m))
	return n.Mod(n, m).Sign() == 0
}

// count returns a number as an int, at most the largest.
func (d decimal) count() int {
	if len(d.digits)+int(min(d.exp, 20)) > 18 {
		return math.MaxInt
	}
	n, _ := strconv.Atoi(d.digits + strings.Repeat("0", int(d.exp)))
	return n
}

// key returns a text that is equal for equal JSON values.
func key(v any) string {
	var b strings.Builder
	writeKey(&b, v)
	return b.String()
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeKey(b, name)
			writeKey(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
		}
		b.WriteByte(']')
	case string:
		fmt.Fprintf(b, "s%d:%s", len(v), v)
	default:
		if d, ok := number(v); ok {
			fmt.Fprintf(b, "n%s;", d.key())
			return
		}
		fmt.Fprintf(b, "%v;", v)
	}
}
