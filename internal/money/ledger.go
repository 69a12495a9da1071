package money

import (
	"context"
	"fmt"
)

// Ledger is the account of a limit that several processes share. Each process enters its own
// sums, never a difference: so an entry whose result is unknown, because a connection failed,
// can be repeated. A budget makes one call of Others, Reserve or Settle at a time. Each retries
// until it succeeds, ctx ends, or the process can't make entries any more: because others found
// that it had disappeared. An error means that the entry may or may not have been made.
type Ledger interface {
	// Others returns the sums of all other processes, also of those that have ended. Money that
	// a process had reserved when it disappeared remains reserved until the ledger
	// charges it, but its requests don't count: nobody should wait for them.
	Others(ctx context.Context) (Sums, error)
	// Reserve enters own as the sums of this process, unless the money of all processes, spent
	// and reserved, would exceed limit: then it changes nothing and returns false, and Others
	// returns what was the cause.
	Reserve(ctx context.Context, own Sums, limit USD) (bool, error)
	// Settle enters own as the sums of this process. They reserve no more than before.
	Settle(ctx context.Context, own Sums) error
	// Changed returns a channel that is closed when the result of Others changes: also when
	// another process was found to have disappeared, and after changes that may have been missed.
	Changed() <-chan struct{}
}

// Sums are the sums of all requests under a limit.
type Sums struct {
	Spent    USD `json:"spent_usd"`
	Reserved USD `json:"reserved_usd"` // for requests in flight and for summaries
	Requests int `json:"requests"`     // in flight
}

// Plus returns the sums of both.
func (s Sums) Plus(t Sums) Sums {
	return Sums{Spent: s.Spent.Add(t.Spent), Reserved: s.Reserved.Add(t.Reserved), Requests: s.Requests + t.Requests}
}

// Money returns the sum of costs and reservations.
func (s Sums) Money() USD { return s.Spent.Add(s.Reserved) }

// LedgerError is the error of a request whose money could not be reserved in a [Ledger].
type LedgerError struct{ Err error }

func (e *LedgerError) Error() string { return fmt.Sprintf("ledger of the budget: %v", e.Err) }

// Unwrap returns the error of the ledger.
func (e *LedgerError) Unwrap() error { return e.Err }

// shared is what a tree has whose root shares its limit with other processes.
type shared struct {
	ledger Ledger
	root   *Budget
	others Sums          // when they were last read; guarded by the tree's lock
	wake   chan struct{} // has an element if sums have changed

	// turn has an element while somebody uses the ledger. It is not the tree's lock, because
	// a ledger may take long: those who wait for their turn stop when their context ends. Only
	// its holder reserves money, so what is entered never lacks a request in flight.
	turn    chan struct{}
	entered Sums // guarded by turn, as is unsure
	unsure  bool // an entry failed: the ledger may have others
}

// Share makes the limit of a root one of all processes that use the ledger. It is called before
// any request, and does nothing for a root without a limit. What is charged or released is entered in
// the background, also after ctx was cancelled. end stops that, and enters the final sums. If it
// fails, money that is no longer needed remains reserved, but none is missing.
func (b *Budget) Share(ctx context.Context, l Ledger) (end func(ctx context.Context) error) {
	if b.limit == 0 {
		return func(context.Context) error { return nil }
	}
	s := &shared{ledger: l, root: b, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	b.shared = s
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.wake:
				_ = s.settle(background) // the next change, or end, tries again
			case <-background.Done():
				return
			}
		}
	}()
	return func(ctx context.Context) error {
		cancel()
		<-ended
		return s.settle(ctx)
	}
}

// changed makes the goroutine of Share enter the sums.
func (s *shared) changed() {
	select {
	case s.wake <- struct{}{}:
	default: // it will
	}
}

// begin waits for the turn to use the ledger, which ends with end.
func (s *shared) begin(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both
		s.end()
		return context.Cause(ctx)
	}
	return nil
}

func (s *shared) end() { <-s.turn }

// own returns the sums of this process.
func (s *shared) own() Sums {
	s.root.mu.Lock()
	defer s.root.mu.Unlock()
	return s.root.own()
}

// settle enters the sums after charges and releases.
func (s *shared) settle(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	own := s.own()
	if own == s.entered && !s.unsure {
		return nil
	}
	if err := s.ledger.Settle(ctx, own); err != nil {
		s.unsure = true
		return &LedgerError{err}
	}
	s.entered, s.unsure = own, false
	return nil
}

// look reads the sums of the other processes. The channel is closed when they change. The caller
// has the turn.
func (s *shared) look(ctx context.Context) (changed <-chan struct{}, err error) {
	changed = s.ledger.Changed()
	others, err := s.ledger.Others(ctx)
	if err != nil {
		return nil, &LedgerError{err}
	}
	s.root.mu.Lock()
	defer s.root.mu.Unlock()
	s.others = others
	return changed, nil
}

// enter enters the sums with money that was reserved since look. It returns false if another
// process was faster, or with an error: then the caller, who has the turn, undoes it.
func (s *shared) enter(ctx context.Context) (bool, error) {
	own := s.own()
	if own == s.entered && !s.unsure { // as much was released meanwhile
		return true, nil
	}
	ok, err := s.ledger.Reserve(ctx, own, s.root.limit)
	switch {
	case err != nil:
		s.unsure = true
		return false, &LedgerError{err}
	case ok:
		s.entered, s.unsure = own, false
	}
	return ok, nil
}

// reserveShared is Reserve for a tree with a ledger.
func (b *Budget) reserveShared(ctx context.Context, request, summary Usage) (*Reservation, error) {
	for {
		r, freed, changed, err := b.tryShared(ctx, request, summary)
		if freed == nil {
			return r, err
		}
		select {
		case <-freed:
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryShared is reserveShared without waiting for money: if it has to wait for one of the
// channels, they are not nil.
func (b *Budget) tryShared(ctx context.Context, request, summary Usage) (r *Reservation, freed, changed <-chan struct{}, err error) {
	s := b.shared
	if err := s.begin(ctx); err != nil {
		return nil, nil, nil, err
	}
	defer s.end()
	for {
		if changed, err = s.look(ctx); err != nil {
			return nil, nil, nil, err
		}
		before := b.reservedForSummary()
		if r, freed, err = b.try(request, summary); r == nil {
			return nil, freed, changed, err
		}
		ok, err := s.enter(ctx)
		if ok {
			return r, nil, nil, nil
		}
		r.undo(before)
		if err != nil {
			return nil, nil, nil, err
		}
	}
}

func (b *Budget) reservedForSummary() USD {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.summary
}

// undo undoes try, before which summary was reserved for the session's summary.
func (r *Reservation) undo(summary USD) {
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserve(summary.Sub(b.summary))
	b.summary = summary
	r.end()
}

// retryShared is Retry for a tree with a ledger.
func (r *Reservation) retryShared(ctx context.Context) error {
	s := r.budget.shared
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	for {
		if _, err := s.look(ctx); err != nil {
			return err
		}
		before, err := r.retry()
		if err != nil {
			return err
		}
		ok, err := s.enter(ctx)
		if ok {
			return nil
		}
		r.undoRetry(before)
		if err != nil {
			return err
		}
	}
}

// undoRetry undoes retry.
func (r *Reservation) undoRetry(before USD) {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.reserve(before)
	r.budget.changed()
	r.budget.free()
}
