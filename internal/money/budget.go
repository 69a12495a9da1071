package money

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"time"
)

const (
	// useful is how many tokens of output a request should at least have: enough
	// to write a file, or for a few calls. A request waits for that much while
	// others are in flight, which mostly cost less than was reserved for them.
	useful = 4096
	// least is how many tokens of output are worth a request when there is nothing
	// to wait for.
	least = 256
	// guess is used as the output limit of a model whose own limit is unknown,
	// where money is short: no provider refuses so small a limit.
	guess = 8192
)

// Budget limits what requests cost. Budgets form a tree: the budget of a run has
// those of its jobs as children, and these those of their sessions. Before a
// request, the most that it can cost is reserved in the session's budget and in
// all budgets above it; what its attempts cost is charged instead. So no budget is
// exceeded, however many requests are in flight, unless a provider charges for
// more than was requested. All methods are safe for concurrent use, but a
// session's budget has one request at a time.
type Budget struct {
	*tree
	parent   *Budget
	name     string // for errors
	limit    USD    // 0: none
	spent    USD
	reserved USD // for requests in flight and for summaries
	requests int // in flight

	// Of a session only:
	model   string
	quotes  Quotes // nil if unknown: then costs are only counted
	summary USD    // in reserved, for the session's summary
	started bool   // the session has made a request
}

// tree is what the budgets of a tree share.
type tree struct {
	mu    sync.Mutex
	freed chan struct{} // closed and replaced whenever reserved money is released
	// first is the least that the first request of a session can cost, by model.
	first  map[string]USD
	notify func(usd USD)
	now    func() time.Time
	shared *shared // nil if no other process shares the limit of the root
}

// NewBudget returns the root of a tree of budgets; 0 means no limit. Errors call it by
// name. Prices are those at the time of now. notify, unless it is nil, is called with what this process has spent and has
// reserved, after each change and never concurrently.
func NewBudget(name string, limit USD, now func() time.Time, notify func(usd USD)) *Budget {
	return &Budget{tree: &tree{freed: make(chan struct{}), first: map[string]USD{}, now: now, notify: notify}, name: name, limit: limit}
}

// SpentBefore sets what an earlier process has spent of b, without the budgets above it. It
// is called before any request.
func (b *Budget) SpentBefore(usd USD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = usd
	b.changed()
}

// Child returns a budget below b with its own limit, 0 for none.
func (b *Budget) Child(name string, limit USD) *Budget {
	return &Budget{tree: b.tree, parent: b, name: name, limit: limit}
}

// Session returns a budget below b for the requests of one session, with what they may cost.
func (b *Budget) Session(model string, quotes Quotes) *Budget {
	return &Budget{tree: b.tree, parent: b, model: model, quotes: quotes}
}

// Exceeded is the error of a budget that can't pay for a request.
type Exceeded struct {
	Budget           string // its name
	Shared           bool   // it is the root of its tree
	Limit, Remaining USD    // without what is reserved for other requests
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("%s exceeded: $%s of $%s remaining, not enough for another request", e.Budget, cents(e.Remaining), cents(e.Limit))
}

// cents returns an amount with at least two decimals.
func cents(usd USD) string {
	text := usd.String()
	integer, fraction, _ := strings.Cut(text, ".")
	if len(fraction) < 2 {
		text = integer + "." + (fraction + "00")[:2]
	}
	return text
}

func (b *Budget) exceeded() error {
	return &Exceeded{Budget: b.name, Shared: b.parent == nil, Limit: b.limit, Remaining: max(b.limit.Sub(b.all().Spent), 0)}
}

// own returns the sums of this process. The lock is held.
func (b *Budget) own() Sums { return Sums{Spent: b.spent, Reserved: b.reserved, Requests: b.requests} }

// all returns the sums that count against the limit. The lock is held.
func (b *Budget) all() Sums {
	if b.parent == nil && b.shared != nil {
		return b.own().Plus(b.shared.others)
	}
	return b.own()
}

// available is what is neither spent nor reserved.
func (b *Budget) available() USD {
	if b.limit == 0 {
		return Max
	}
	all := b.all()
	return b.limit.Sub(all.Spent).Sub(all.Reserved)
}

// reserve adds usd, which may be negative, to what is reserved in b and above it.
// The lock is held.
func (b *Budget) reserve(usd USD) {
	for ; b != nil; b = b.parent {
		b.reserved = b.reserved.Add(usd)
	}
}

// changed reports the sums of the root, and enters them in its ledger. The lock is held.
func (b *Budget) changed() {
	for b.parent != nil {
		b = b.parent
	}
	if b.notify != nil {
		b.notify(b.spent.Add(b.reserved))
	}
	if b.shared != nil {
		b.shared.changed()
	}
}

// free wakes the requests that wait for money. The lock is held.
func (t *tree) free() {
	close(t.freed)
	t.freed = make(chan struct{})
}

// CanStart returns an [*Exceeded] if b can't pay for what the first request of a
// session with that model has cost at least, as far as that is known. Money that
// is reserved counts as available. Another error is a [*LedgerError], or the cause of the
// context.
func (b *Budget) CanStart(ctx context.Context, model string) error {
	if s := b.shared; s != nil {
		if err := s.begin(ctx); err != nil {
			return err
		}
		_, err := s.look(ctx)
		s.end()
		if err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.limit.Sub(b.all().Spent); b.limit > 0 && (left <= 0 || left < b.first[model]) {
		return b.exceeded()
	}
	return nil
}

// Reserve reserves the most that a request of a session can cost, and with it
// what the session's summary will cost if no other request follows. Both are
// given in tokens of input and output: a request with an output of 0 has an
// unknown limit, a zero summary needs no money. While other requests have
// reserved what is missing, it waits for them. The error is an [*Exceeded], a
// [*LedgerError], or the cause of the context.
func (b *Budget) Reserve(ctx context.Context, request, summary Usage) (*Reservation, error) {
	if b.shared != nil {
		return b.reserveShared(ctx, request, summary)
	}
	for {
		r, wait, err := b.try(request, summary)
		if wait == nil {
			return r, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try is Reserve without waiting: if it has to wait for wait, that is not nil.
func (b *Budget) try(request, summary Usage) (r *Reservation, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	poorest := b
	for p := b.parent; p != nil; p = p.parent {
		if p.available() < poorest.available() {
			poorest = p
		}
	}
	available := poorest.available().Add(b.summary)
	switch {
	case b.quotes == nil && available <= 0:
		return nil, nil, poorest.exceeded()
	case b.quotes == nil || poorest.limit == 0:
		return b.reservation(0, 0), nil, nil
	}
	b.start(request.Input)
	after := USD(0)
	if summary != (Usage{}) {
		after = b.maxCost(summary.Input, int(summary.Output))
	}
	wanted := int(request.Output)
	if wanted == 0 {
		wanted = guess
	}
	output := min(wanted, b.affords((available/2).Sub(after), request.Input)) // half for the other jobs
	if enough := min(wanted, useful); output < enough {
		output = min(enough, b.affords(available.Sub(after), request.Input))
		switch {
		case output < enough && poorest.all().Requests > 0:
			return nil, b.freed, nil
		case output < min(wanted, least):
			return nil, nil, poorest.exceeded()
		}
	}
	b.reserve(after.Sub(b.summary))
	b.summary = after
	r = b.reservation(output, b.maxCost(request.Input, output))
	if int64(output) == request.Output {
		r.Output = 0
	}
	return r, nil, nil
}

// start records what the first request of a session can cost at least. The lock
// is held.
func (b *Budget) start(input int64) {
	if b.started {
		return
	}
	b.started = true
	usd := b.maxCost(input, least)
	if known, ok := b.first[b.model]; !ok || usd < known {
		b.first[b.model] = usd
	}
}

// maxCost is the most that a request can cost. Writing to a provider's cache may
// cost more than plain input.
func (b *Budget) maxCost(input int64, output int) USD {
	plain := Usage{Input: input, Output: int64(output)}
	written := plain
	written.CacheWrite = input
	now := b.now()
	return max(b.quotes.Most(plain, now), b.quotes.Most(written, now))
}

// affords is how many tokens of output usd pays for beside the input. The price
// of a token grows with their number, if it changes.
func (b *Budget) affords(usd USD, input int64) int {
	const many = 1 << 20
	none := b.maxCost(input, 0)
	each := b.maxCost(input, many).Sub(none)
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
	for n > 0 && b.maxCost(input, int(n)) > usd { // costs are rounded up
		n--
	}
	return int(n)
}

// Release releases what is reserved for the summary of a session.
func (b *Budget) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserve(-b.summary)
	b.summary = 0
	b.changed()
	b.free()
}

// Reservation is money for one request: as much as one attempt at it can cost.
// All methods of a nil Reservation do nothing.
type Reservation struct {
	// Output is the output limit of the request that is paid for, in tokens; 0 if
	// it is as high as requested.
	Output int

	budget   *Budget
	amount   USD // of one attempt
	reserved USD // what is left of that
	attempts int // that were charged
	charged  USD // for all of them
}

// Estimate returns the most that a request of a session costs with that usage; nil if it is
// unknown.
func (b *Budget) Estimate(u Usage) *USD {
	if b.quotes == nil {
		return nil
	}
	return new(b.quotes.Most(u, b.now()))
}

// Amount returns what is reserved for one attempt; nil if nothing is.
func (r *Reservation) Amount() *USD {
	if r == nil || r.amount == 0 {
		return nil
	}
	return new(r.amount)
}

// reservation reserves usd for a request. The lock is held.
func (b *Budget) reservation(output int, usd USD) *Reservation {
	b.reserve(usd)
	for p := b; p != nil; p = p.parent {
		p.requests++
	}
	b.changed()
	return &Reservation{Output: output, budget: b, amount: usd, reserved: usd}
}

// Charge charges the cost of an attempt, which is taken from what is reserved. An
// unknown cost (nil) is as much as an attempt can cost.
func (r *Reservation) Charge(cost *USD) {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.charge(cost)
	r.budget.changed()
}

// charge is Charge with the lock held.
func (r *Reservation) charge(cost *USD) {
	usd := r.amount
	if cost != nil {
		usd = *cost
	}
	r.attempts++
	r.charged = r.charged.Add(usd)
	for p := r.budget; p != nil; p = p.parent {
		p.spent = p.spent.Add(usd)
	}
	r.reserve(max(r.reserved.Sub(usd), 0))
}

// Retry reserves money for another attempt instead of what was charged. The error
// is an [*Exceeded] if there is not enough, or as that of [Budget.Reserve]. An attempt that
// cost nothing can always be repeated.
func (r *Reservation) Retry(ctx context.Context) error {
	if r == nil || r.costNothing() {
		return nil
	}
	if r.budget.shared != nil {
		return r.retryShared(ctx)
	}
	_, err := r.retry()
	return err
}

// costNothing reports whether no attempt has cost anything.
func (r *Reservation) costNothing() bool {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.charged == 0
}

// retry is Retry without a ledger. It returns what was reserved before.
func (r *Reservation) retry() (before USD, err error) {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	before = r.reserved
	missing := r.amount.Sub(before)
	for p := r.budget; p != nil; p = p.parent {
		if left := p.available().Sub(missing); left < 0 || left == 0 && r.amount == 0 {
			return before, p.exceeded()
		}
	}
	r.reserve(r.amount)
	r.budget.changed()
	return before, nil
}

// Release ends the request and releases what is reserved for it. If no attempt was
// charged, the cost is unknown.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	if r.attempts == 0 {
		r.charge(nil)
	}
	r.end()
}

// end releases what is reserved for the request. The lock is held.
func (r *Reservation) end() {
	r.reserve(0)
	for p := r.budget; p != nil; p = p.parent {
		p.requests--
	}
	r.budget.changed()
	r.budget.free()
}

// reserve sets what is reserved for the request. The lock is held.
func (r *Reservation) reserve(usd USD) {
	r.budget.reserve(usd.Sub(r.reserved))
	r.reserved = usd
}
