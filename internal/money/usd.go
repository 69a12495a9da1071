package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of US dollars, in nano-dollars (10⁻⁹ $). An unknown amount is
// a nil *USD.
type USD int64

const (
	// Dollar is one US dollar.
	Dollar USD = 1_000_000_000
	// Max is the largest amount, about 9.2 billion dollars; the smallest is -Max.
	Max USD = math.MaxInt64

	decimals = 9
	// noise is the number of decimals below a nano-dollar that count: the rest is
	// what binary fractions add to an amount that was computed with them.
	noise = 3
)

// ErrRange is the error of an amount beyond [Max].
var ErrRange = errors.New("amount out of range")

// Add returns the sum; one outside of the range of USD becomes Max or -Max.
func (u USD) Add(v USD) USD {
	switch sum := u + v; {
	case u > 0 && v > 0 && sum < 0:
		return Max
	case u < 0 && v < 0 && (sum >= 0 || sum < -Max):
		return -Max
	default:
		return sum
	}
}

// Sub returns the difference, within the same bounds as Add.
func (u USD) Sub(v USD) USD { return u.Add(-v) }

// Share returns the share with index i, from 0, of n equal ones. The shares add
// up to u: where it can't be divided, the first ones are a nano-dollar larger.
func (u USD) Share(i, n int) USD {
	share, rest := u/USD(n), u%USD(n)
	switch {
	case USD(i) < rest:
		share++
	case USD(i) < -rest:
		share--
	}
	return share
}

// Percent returns so many percent of an amount, rounded up; a result out of range is
// [Max].
func (u USD) Percent(percent int64) USD {
	var p product
	p.add(max(percent, 0), u)
	return p.over(100)
}

// Dollars returns the amount as the nearest floating-point number, for display.
func (u USD) Dollars() float64 { return float64(u) / float64(Dollar) }

// String returns the amount in dollars without a currency sign, with as many
// decimals as needed: 1.5, 0.00027.
func (u USD) String() string {
	sign := ""
	if u < 0 {
		sign, u = "-", -u
	}
	text := fmt.Sprintf("%s%d.%09d", sign, int64(u/Dollar), int64(u%Dollar))
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Rounded formats a cost for people: with two decimals from $1 on, four decimals down
// to $0.001, and two significant digits below.
func Rounded(usd *USD) string {
	if usd == nil {
		return "unknown"
	}
	amount := usd.Dollars()
	size := math.Abs(amount)
	switch {
	case size == 0 || size >= 1:
		return fmt.Sprintf("$%.2f", amount)
	case size >= 0.001:
		return fmt.Sprintf("$%.4f", amount)
	default:
		return "$" + strconv.FormatFloat(amount, 'f', 1-int(math.Floor(math.Log10(size))), 64)
	}
}

// MarshalJSON returns a JSON number of dollars, in the form that encoding/json
// gives to a float64: below a millionth of a dollar with an exponent.
func (u USD) MarshalJSON() ([]byte, error) {
	if u == 0 || u >= 1000 || u <= -1000 {
		return []byte(u.String()), nil
	}
	sign := ""
	if u < 0 {
		sign, u = "-", -u
	}
	digits := strconv.Itoa(int(u))
	mantissa := digits[:1]
	if rest := strings.TrimRight(digits[1:], "0"); rest != "" {
		mantissa += "." + rest
	}
	return fmt.Appendf(nil, "%s%se-%d", sign, mantissa, decimals+1-len(digits)), nil
}

// UnmarshalJSON reads a JSON number as [Parse] does; one out of range becomes the
// nearest amount.
func (u *USD) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	usd, err := Parse(string(data))
	if err != nil && !errors.Is(err, ErrRange) {
		return err
	}
	*u = usd
	return nil
}

// Parse reads a decimal number of dollars, such as 1.50 or 2e-7. A fraction of a
// nano-dollar is rounded up (away from zero), except for what lies below a
// thousandth of it: that is the noise of binary fractions. The error of an
// amount beyond [Max] is [ErrRange]; the result is then the nearest amount.
func Parse(text string) (USD, error) { return parse(text, true) }

// ParseLimit is [Parse] for the amount of a limit: a fraction of a nano-dollar is
// cut off.
func ParseLimit(text string) (USD, error) { return parse(text, false) }

// FromFloat converts a number of dollars as [Parse] does. ok is false for a number
// that is not finite, or out of range.
func FromFloat(dollars float64) (usd USD, ok bool) {
	usd, err := Parse(strconv.FormatFloat(dollars, 'f', -1, 64))
	return usd, err == nil
}

func parse(text string, up bool) (USD, error) {
	unsigned, negative := strings.CutPrefix(text, "-")
	if !negative {
		unsigned = strings.TrimPrefix(unsigned, "+")
	}
	mantissa, exponent := unsigned, 0
	if at := strings.IndexAny(unsigned, "eE"); at >= 0 {
		var err error
		exponent, err = strconv.Atoi(unsigned[at+1:])
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("invalid amount of dollars %q", text)
		}
		mantissa, exponent = unsigned[:at], max(min(exponent, math.MaxInt32), math.MinInt32)
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := integer + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("invalid amount of dollars %q", text)
	}
	nanos, rest := cut(digits, len(integer)+exponent+decimals)
	n, err := strconv.ParseInt(nanos, 10, 64)
	usd := USD(n) // Max if that is out of range
	if up && strings.Trim(rest[:min(len(rest), noise)], "0") != "" {
		usd = usd.Add(1)
	}
	if negative {
		usd = -usd
	}
	if err != nil {
		return usd, fmt.Errorf("%s: %w", text, ErrRange)
	}
	return usd, nil
}

// cut splits the digits of a number after the given one. It adds only as many zeros
// as put the first substring out of range, or make the second one noise.
func cut(digits string, at int) (before, after string) {
	const enough = 20 // of zeros, for every USD that is not 0
	switch {
	case at <= 0:
		return "0", strings.Repeat("0", min(-at, noise)) + digits
	case at >= len(digits):
		return digits + strings.Repeat("0", min(at-len(digits), enough)), ""
	default:
		return digits[:at], digits[at:]
	}
}
