// Package invoice makes invoices and credit notes of orders: prices, quantity
// discounts, taxes and totals.
package invoice

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.com/shop/catalog"
	"example.com/shop/money"
)

// Invoice is what a customer has to pay, or gets back if the total is negative.
type Invoice struct {
	Number   string
	Customer string
	Lines    []Line
	Net      money.Amount // sum of the lines
	Taxes    []Tax        // one for each rate, the smallest rate first
	Total    money.Amount
}

// Line is one product of an invoice.
type Line struct {
	Product  catalog.Product
	Quantity int
	Discount money.Amount // taken off the price of all pieces
	Net      money.Amount // without tax, after the discount
}

// Tax is the tax on all lines that have the same rate.
type Tax struct {
	Rate   money.Rate
	Base   money.Amount // sum of these lines
	Amount money.Amount
}

// New makes the invoice of an order. Its error names every product that the
// catalogue lacks.
func New(order Order, products *catalog.Catalog) (Invoice, error) {
	inv := Invoice{Number: order.Number, Customer: order.Customer}
	var missing []error
	for _, ordered := range order.Lines {
		product, ok := products.Product(ordered.SKU)
		if !ok {
			missing = append(missing, fmt.Errorf("order %s: there is no product %q", order.Number, ordered.SKU))
			continue
		}
		line := newLine(product, ordered.Quantity)
		inv.Lines = append(inv.Lines, line)
		inv.Net += line.Net
	}
	if len(missing) > 0 {
		return Invoice{}, errors.Join(missing...)
	}
	inv.Taxes = taxes(inv.Lines)
	inv.Total = inv.Net
	for _, tax := range inv.Taxes {
		inv.Total += tax.Amount
	}
	return inv, nil
}

func newLine(product catalog.Product, quantity int) Line {
	gross := product.Price.Times(quantity)
	discount := gross.Share(QuantityDiscount(quantity))
	return Line{Product: product, Quantity: quantity, Discount: discount, Net: gross - discount}
}

// taxes computes the tax on the sum of each rate: rounding line by line would
// add up to something else than the tax office computes.
func taxes(lines []Line) []Tax {
	bases := map[money.Rate]money.Amount{}
	for _, l := range lines {
		bases[l.Product.VAT] += l.Net
	}
	var taxes []Tax
	for _, rate := range slices.Sorted(maps.Keys(bases)) {
		base := bases[rate]
		taxes = append(taxes, Tax{Rate: rate, Base: base, Amount: base.Share(rate)})
	}
	return taxes
}
