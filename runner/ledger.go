package runner

import (
	"fmt"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/session"
)

// ledger adds up what the run has cost. It is safe for concurrent use.
type ledger struct {
	cap float64 // USD; 0: none

	mu  sync.Mutex
	usd float64
}

// add books the cost of one model call. An unknown cost can't be booked; a run
// with a cap has been refused before if a price is unknown, unless its author
// took that on himself.
func (l *ledger) add(usd *float64) {
	if usd == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usd = event.AddUSD(l.usd, *usd)
}

// spent reports whether the cap is reached.
func (l *ledger) spent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cap > 0 && l.usd >= l.cap
}

// allow says whether another model call may be made; nil if so.
func (l *ledger) allow() *session.End {
	if !l.spent() {
		return nil
	}
	return &session.End{Kind: session.OverCost, Reason: fmt.Sprintf("the run's budget of $%g is spent", l.cap)}
}
