// Package money counts in whole cents. Every rounding of the program is done
// here: to the nearest cent, halves away from zero, as invoices are rounded.
package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Amount is a sum of money in cents. It is negative for money paid back.
type Amount int64

// Rate is a part of an amount, in hundredths of a percent: 1900 is 19 %.
type Rate int64

// whole is the rate of 100 %.
const whole = 100_00

// ParseAmount reads an amount such as "12", "12.5" or "-0.99".
func ParseAmount(s string) (Amount, error) {
	n, err := parseHundredths(s)
	if err != nil {
		return 0, fmt.Errorf("amount %q: %w", s, err)
	}
	return Amount(n), nil
}

// ParseRate reads a rate in percent, such as "19" or "7.5", from 0 to 100.
func ParseRate(s string) (Rate, error) {
	n, err := parseHundredths(s)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	if n < 0 || n > whole {
		return 0, fmt.Errorf("rate %q: not between 0 and 100 percent", s)
	}
	return Rate(n), nil
}

// Times returns the amount for n pieces; n is negative for returned ones.
func (a Amount) Times(n int) Amount {
	return a * Amount(n)
}

// Share returns the part of the amount that the rate says, in whole cents.
func (a Amount) Share(r Rate) Amount {
	return Amount(divRound(int64(a)*int64(r), whole))
}

// String returns the amount with two decimal places.
func (a Amount) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	return fmt.Sprintf("%s%d.%02d", sign, a/100, a%100)
}

// String returns the rate in percent, with as many decimal places as it needs.
func (r Rate) String() string {
	return strconv.FormatFloat(float64(r)/100, 'f', -1, 64) + "%"
}

// divRound returns n/d rounded to the nearest whole number, halves away from
// zero. d must be positive.
func divRound(n, d int64) int64 {
	q, r := n/d, n%d
	if 2*r >= d {
		q++
	}
	return q
}

// parseHundredths reads a decimal number with at most two decimal places and
// returns it multiplied by 100.
func parseHundredths(s string) (int64, error) {
	digits, negative := strings.CutPrefix(s, "-")
	units, fraction, point := strings.Cut(digits, ".")
	if units == "" || point && fraction == "" {
		return 0, errors.New("not a decimal number")
	}
	if len(fraction) > 2 {
		return 0, errors.New("more than two decimal places")
	}
	n, err := strconv.ParseUint(units+fraction+"00"[len(fraction):], 10, 53)
	if err != nil {
		return 0, errors.New("not a decimal number, or too large")
	}
	if negative {
		return -int64(n), nil
	}
	return int64(n), nil
}
