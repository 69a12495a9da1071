package invoice

import (
	"strings"
	"testing"

	"example.com/shop/catalog"
	"example.com/shop/money"
)

// products makes a catalogue of CSV records.
func products(t *testing.T, records ...string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(strings.NewReader("sku,name,price,vat\n" + strings.Join(records, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestQuantityDiscount(t *testing.T) {
	for quantity, want := range map[int]money.Rate{
		1: 0, 9: 0, 10: 500, 49: 500, 50: 800, 99: 800, 100: 1250, 5000: 1250,
		-1: 0, -9: 0, -10: 500, -100: 1250,
	} {
		if got := QuantityDiscount(quantity); got != want {
			t.Errorf("QuantityDiscount(%d) = %v, want %v", quantity, got, want)
		}
	}
}

func TestNewComputesTaxOnTheSumOfEachRate(t *testing.T) {
	all := products(t, "MUG,Mug,8.40,19", "TEA,Tea,4.95,7", "POT,Pot,31.99,19")
	order := Order{Number: "1", Lines: []OrderLine{{"MUG", 12}, {"TEA", 3}, {"POT", 1}}}
	inv, err := New(order, all)
	if err != nil {
		t.Fatal(err)
	}
	if got := inv.Lines[0]; got.Discount != 504 || got.Net != 9576 {
		t.Errorf("12 mugs: discount %v, net %v, want 5.04 and 95.76", got.Discount, got.Net)
	}
	want := []Tax{{Rate: 700, Base: 1485, Amount: 104}, {Rate: 1900, Base: 12775, Amount: 2427}}
	if len(inv.Taxes) != 2 || inv.Taxes[0] != want[0] || inv.Taxes[1] != want[1] {
		t.Errorf("taxes are %v, want %v", inv.Taxes, want)
	}
	if inv.Net != 14260 || inv.Total != 16791 {
		t.Errorf("net %v, total %v, want 142.60 and 167.91", inv.Net, inv.Total)
	}
}

func TestNewNamesEveryMissingProduct(t *testing.T) {
	order := Order{Number: "7", Lines: []OrderLine{{"CUP", 1}, {"MUG", 1}, {"JUG", 1}}}
	_, err := New(order, products(t, "MUG,Mug,8.40,19"))
	if err == nil || !strings.Contains(err.Error(), `"CUP"`) || !strings.Contains(err.Error(), `"JUG"`) {
		t.Errorf("New fails with %v, want an error with CUP and JUG", err)
	}
}
