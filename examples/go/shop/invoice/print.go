package invoice

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the invoice as a table for people.
func Print(w io.Writer, inv Invoice) error {
	var text bytes.Buffer
	title := "Invoice"
	if inv.Total < 0 {
		title = "Credit note"
	}
	fmt.Fprintf(&text, "%s %s\n%s\n\n", title, inv.Number, inv.Customer)

	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "pieces\tsku\tproduct\tprice\tdiscount\tnet\t")
	for _, l := range inv.Lines {
		fmt.Fprintf(table, "%d\t%s\t%s\t%v\t%v\t%v\t\n", l.Quantity, l.Product.SKU, l.Product.Name, l.Product.Price, l.Discount, l.Net)
	}
	fmt.Fprintf(table, "\t\tnet\t\t\t%v\t\n", inv.Net)
	for _, tax := range inv.Taxes {
		fmt.Fprintf(table, "\t\t%v VAT on %v\t\t\t%v\t\n", tax.Rate, tax.Base, tax.Amount)
	}
	fmt.Fprintf(table, "\t\ttotal\t\t\t%v\t\n", inv.Total)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("lay out invoice %s: %w", inv.Number, err)
	}
	if _, err := text.WriteTo(w); err != nil {
		return fmt.Errorf("print invoice %s: %w", inv.Number, err)
	}
	return nil
}
