package invoice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Order is what a customer wants, or sends back.
type Order struct {
	Number   string      `json:"number"`
	Customer string      `json:"customer"`
	Lines    []OrderLine `json:"lines"`
}

// OrderLine is a number of pieces of one product, negative for returned ones.
type OrderLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// ReadOrder reads an order in JSON form. Unknown keys are errors, so that a
// misspelt one is not taken for a missing one.
func ReadOrder(r io.Reader) (Order, error) {
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	var o Order
	if err := in.Decode(&o); err != nil {
		return Order{}, fmt.Errorf("read the order: %w", err)
	}
	if err := o.check(); err != nil {
		return Order{}, fmt.Errorf("order %q: %w", o.Number, err)
	}
	return o, nil
}

// Credited returns the order that takes o back: the same products, with the
// opposite quantities.
func (o Order) Credited() Order {
	o.Number += "-C"
	o.Lines = slices.Clone(o.Lines)
	for i := range o.Lines {
		o.Lines[i].Quantity = -o.Lines[i].Quantity
	}
	return o
}

func (o Order) check() error {
	if o.Number == "" {
		return errors.New("it has no number")
	}
	if len(o.Lines) == 0 {
		return errors.New("it has no lines")
	}
	for i, l := range o.Lines {
		if l.Quantity == 0 {
			return fmt.Errorf("line %d (%s): the quantity is missing or 0", i+1, l.SKU)
		}
	}
	return nil
}
