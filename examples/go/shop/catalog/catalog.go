// Package catalog holds the products that the shop sells.
package catalog

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/shop/money"
)

// Product is something that can be ordered.
type Product struct {
	SKU   string
	Name  string
	Price money.Amount // of one piece, without tax
	VAT   money.Rate
}

// Catalog finds products by their SKU.
type Catalog struct {
	products map[string]Product
}

var header = []string{"sku", "name", "price", "vat"}

// Read reads a catalogue in CSV form, whose first record is the header
// "sku,name,price,vat". Its errors name the line.
func Read(r io.Reader) (*Catalog, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(header)
	first, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read the catalogue's header: %w", err)
	}
	if !slices.Equal(first, header) {
		return nil, fmt.Errorf("the catalogue's header is %q, want %q", first, header)
	}

	c := &Catalog{products: map[string]Product{}}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the catalogue: %w", err)
		}
		if err := c.add(record); err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("catalogue, line %d: %w", line, err)
		}
	}
}

// Product returns the product with this SKU, and false if it does not exist.
func (c *Catalog) Product(sku string) (Product, bool) {
	p, ok := c.products[sku]
	return p, ok
}

// add stores the product of one record.
func (c *Catalog) add(record []string) error {
	p := Product{SKU: record[0], Name: record[1]}
	if p.SKU == "" {
		return errors.New("the sku is empty")
	}
	if _, ok := c.products[p.SKU]; ok {
		return fmt.Errorf("the sku %s is there twice", p.SKU)
	}
	var err error
	if p.Price, err = money.ParseAmount(record[2]); err != nil {
		return fmt.Errorf("price: %w", err)
	}
	if p.Price < 0 {
		return fmt.Errorf("price: %v is negative", p.Price)
	}
	if p.VAT, err = money.ParseRate(record[3]); err != nil {
		return fmt.Errorf("vat: %w", err)
	}
	c.products[p.SKU] = p
	return nil
}
