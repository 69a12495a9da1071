package runner

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/session"
)

const (
	// useful is how many tokens an answer should at least have room for: a file
	// to write, or a few calls. A call waits for that much while others are in
	// flight, which mostly cost less than was set aside for them.
	useful = 4096
	// least is how many tokens are worth a call when nothing else is to be had.
	least = 256
	// guess is taken for the longest answer of a model of which that is unknown,
	// where money is short: no provider refuses so small a limit.
	guess = 8192
)

// account is money that may be spent, and what became of it.
type account struct {
	what  string    // it is: "the run's budget"
	all   bool      // it is that of all jobs
	cap   money.USD // 0: none
	usd   money.USD // spent
	held  money.USD // set aside for calls in flight and for last words
	calls int       // in flight
}

func (a *account) left() money.USD {
	if a.cap == 0 {
		return money.Max
	}
	return a.cap.Sub(a.usd).Sub(a.held)
}

func (a *account) end() *session.End {
	return &session.End{Kind: session.OverCost, Shared: a.all, Reason: fmt.Sprintf("%s of $%s is spent, or too little of it is left for another model call ($%.6f is left)", a.what, a.cap, max(a.cap.Sub(a.usd), 0).Dollars())}
}

// ledger keeps the accounts of a run and its jobs. Before a model call the most
// that it can cost is set aside in all accounts that pay for it; afterwards its
// real cost is booked instead. So no account is ever overdrawn, however many
// calls are in flight, unless a provider charges for more than was asked for.
// It is safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	run   account
	freed chan struct{} // closed and replaced whenever money comes back
	// begin is the least that the first call of a session has needed, by
	// model: with less, no other session need be begun.
	begin map[string]money.USD
	tell  func(usd money.USD) // see [Options.Spent]; nil for nobody
}

func newLedger(usd money.USD, tell func(usd money.USD)) *ledger {
	return &ledger{run: account{what: "the run's budget", all: true, cap: usd}, freed: make(chan struct{}), begin: map[string]money.USD{}, tell: tell}
}

// changed reports what the run has spent and set aside. The lock is held.
func (l *ledger) changed() {
	if l.tell != nil {
		l.tell(l.run.usd.Add(l.run.held))
	}
}

// spent says why no job with that model should be begun, as far as the run's
// money is concerned; nil if one may be.
func (l *ledger) spent(model string) *session.End {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := l.run.cap.Sub(l.run.usd); l.run.cap > 0 && (left <= 0 || left < l.begin[model]) {
		return l.run.end()
	}
	return nil
}

// note keeps what the first call of a session needs. The lock is held.
func (p *purse) note(need session.Need) {
	if need.Words > 0 || need.Last {
		return
	}
	usd := p.most(need.Input, least)
	if known, ok := p.begin[p.model]; !ok || usd < known {
		p.begin[p.model] = usd
	}
}

// free tells those who wait that there may be money again. The lock is held.
func (l *ledger) free() {
	close(l.freed)
	l.freed = make(chan struct{})
}

// purse pays for the calls of one session.
type purse struct {
	*ledger
	accounts []*account
	model    string
	price    func(money.Usage) money.USD // nil if unknown: then costs are only counted
	kept     money.USD                   // held for the session's last words
}

// purse makes one that draws from the run's budget and the job's account.
func (l *ledger) purse(job *account, model string, price func(money.Usage) money.USD) *purse {
	return &purse{ledger: l, accounts: []*account{job, &l.run}, model: model, price: price}
}

// reserve sets money aside for a call; see [session.Purse]. It waits for calls
// in flight if these hold what is missing.
func (p *purse) reserve(ctx context.Context, need session.Need) (session.Grant, *session.End) {
	for {
		grant, freed, end := p.try(need)
		if freed == nil {
			return grant, end
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return session.Grant{}, session.Ended(ctx)
		}
	}
}

// try is reserve without waiting: freed is what to wait for, nil if the answer
// stands.
func (p *purse) try(need session.Need) (grant session.Grant, freed <-chan struct{}, end *session.End) {
	p.mu.Lock()
	defer p.mu.Unlock()
	poorest := p.accounts[0]
	for _, a := range p.accounts {
		if a.left() < poorest.left() {
			poorest = a
		}
	}
	left := poorest.left().Add(p.kept)
	switch {
	case p.price == nil && left <= 0:
		return grant, nil, poorest.end()
	case p.price == nil || poorest.cap == 0:
		return p.grant(0, 0), nil, nil
	}
	p.note(need)
	var keep money.USD
	if need.Words > 0 {
		keep = p.most(need.Words, session.WordsOutput)
	}
	want := need.Output
	if want == 0 {
		want = guess
	}
	out := min(want, p.affords((left/2).Sub(keep), need.Input)) // the other jobs are to have a share
	if enough := min(want, useful); out < enough {
		out = min(enough, p.affords(left.Sub(keep), need.Input))
		switch {
		case out < enough && poorest.calls > 0:
			return grant, p.freed, nil
		case out < min(want, least):
			return grant, nil, poorest.end()
		}
	}
	p.keep(keep)
	if grant = p.grant(out, p.most(need.Input, out)); out == need.Output {
		grant.Output = 0
	}
	return grant, nil, nil
}

// most is the most that a call can cost. Writing to a provider's cache may be
// dearer than plain input.
func (p *purse) most(input int64, output int) money.USD {
	plain := money.Usage{Input: input, Output: int64(output)}
	written := plain
	written.CacheWrite = input
	return max(p.price(plain), p.price(written))
}

// affords is how many tokens of output usd pays for beside the input. The price
// of a token grows with their number, if it changes.
func (p *purse) affords(usd money.USD, input int64) int {
	const many = 1 << 20
	none := p.most(input, 0)
	each := p.most(input, many).Sub(none)
	switch {
	case usd < none:
		return 0
	case each <= 0:
		return math.MaxInt
	}
	high, low := bits.Mul64(uint64(usd.Sub(none)), many)
	n := uint64(math.MaxInt32)
	if high < uint64(each) {
		low, _ = bits.Div64(high, low, uint64(each))
		n = min(n, low)
	}
	for n > 0 && p.most(input, int(n)) > usd { // costs are rounded up
		n--
	}
	return int(n)
}

// grant sets usd aside for a call. The lock is held.
func (p *purse) grant(output int, usd money.USD) session.Grant {
	for _, a := range p.accounts {
		a.held = a.held.Add(usd)
		a.calls++
	}
	p.changed()
	c := &call{purse: p, held: usd}
	return session.Grant{Output: output, Settle: c.settle, Again: c.again}
}

// call is a model call that money is set aside for: as much as one attempt can
// cost.
type call struct {
	*purse
	held   money.USD
	booked money.USD // of attempts that failed
}

// settle books what a call has cost instead of what was set aside for it; a
// cost that nobody knows counts as that much.
func (c *call) settle(cost *money.USD) {
	usd := c.booked.Add(c.held)
	if cost != nil {
		usd = *cost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book(usd)
	for _, a := range c.accounts {
		a.held = a.held.Sub(c.held)
		a.calls--
	}
	c.changed()
	c.free()
}

// again books what the call's failed attempts have cost so far, and says whether
// another one is paid for beside them.
func (c *call) again(cost *money.USD) *session.End {
	usd := c.booked.Add(c.held)
	if cost != nil {
		usd = *cost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book(usd)
	c.changed()
	for _, a := range c.accounts {
		if left := a.left(); left < 0 || left == 0 && c.held == 0 {
			return a.end()
		}
	}
	return nil
}

// book puts down what the call has cost so far. The lock is held.
func (c *call) book(usd money.USD) {
	for _, a := range c.accounts {
		a.usd = a.usd.Add(usd.Sub(c.booked))
	}
	c.booked = usd
}

// keep holds usd for the session's last words instead of what was held for
// them. The lock is held.
func (p *purse) keep(usd money.USD) {
	for _, a := range p.accounts {
		a.held = a.held.Add(usd.Sub(p.kept))
	}
	p.kept = usd
}

// release gives back what is held for the session's last words.
func (p *purse) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(0)
	p.changed()
	p.free()
}
