package view

import (
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Dollars formats a cost in USD for people; nil is unknown.
func Dollars(usd *money.USD) string {
	switch {
	case usd == nil:
		return "cost unknown"
	case *usd == 0:
		return "$0"
	case *usd < money.Dollar/10_000:
		return fmt.Sprintf("$%.6f", usd.Dollars())
	case *usd < money.Dollar: // as in the table of the report
		return fmt.Sprintf("$%.4f", usd.Dollars())
	}
	return fmt.Sprintf("$%.2f", usd.Dollars())
}

// Duration formats a number of milliseconds for people.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Plural formats a number with a noun: "1 job", "2 jobs".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
