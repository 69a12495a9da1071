package model

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

// fixed returns the same response every time.
type fixed struct {
	resp Response
	err  error
}

func (f fixed) Stream(context.Context, Request, func(Delta)) (Response, error) { return f.resp, f.err }

func TestOnlyKnownPricesAreSet(t *testing.T) {
	known := func(u money.Usage) (money.USD, bool) { return money.USD(u.Input) * money.Dollar / 100, true }
	unknown := func(money.Usage) (money.USD, bool) { return 7, false }
	broken := errors.New("broken")
	tests := []struct {
		name  string
		next  fixed
		price func(money.Usage) (money.USD, bool)
		want  *money.USD
	}{
		{"the table's price", fixed{resp: Response{Usage: &money.Usage{Input: 50}}}, known, costs(0.5)},
		{"the provider's own word", fixed{resp: Response{Usage: &money.Usage{Input: 50}, CostUSD: costs(3)}}, known, costs(3)},
		{"the provider's word without usage", fixed{resp: Response{CostUSD: costs(0)}}, known, costs(0)},
		{"an unknown price is not zero", fixed{resp: Response{Usage: &money.Usage{Input: 50}}}, unknown, nil},
		{"an unknown usage is not zero", fixed{}, known, nil},
		{"a failure has no price", fixed{resp: Response{Usage: &money.Usage{Input: 50}}, err: broken}, known, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Priced(test.next, test.price).Stream(t.Context(), Request{}, nil)
			if diff := cmp.Diff(test.want, got.CostUSD); diff != "" || !errors.Is(err, test.next.err) {
				t.Errorf("error %v, cost (-want +got):\n%s", err, diff)
			}
		})
	}
}
