// Package money has the one form of money in millhand: [USD], an integer number
// of nano-dollars, with the token counts ([Usage]), the prices ([Price]) and the
// charges ([Charge]) that it is computed from, and the limits on it: a [Budget]
// pays for requests, each by a [Reservation]. Several processes can share the limit
// of one in a [Ledger].
//
// Sums are exact, so they don't depend on the order of their terms. Rounding
// happens in three places, each in the direction that can't exceed a budget: the cost
// of a request and an amount that a provider reports are rounded up to a
// nano-dollar, a limit is rounded down. An amount outside of the range of USD
// becomes the nearest one in it and never wraps around, so that a budget that
// was exceeded stays exceeded.
//
// It does no I/O, and it doesn't know what any model costs; that is package
// prices.
package money
