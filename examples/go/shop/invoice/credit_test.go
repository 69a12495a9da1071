package invoice

import "testing"

// Whoever sends everything back gets exactly the money that was paid.
func TestCreditNoteMirrorsInvoice(t *testing.T) {
	tests := []struct {
		name     string
		record   string
		quantity int
	}{
		{"nothing to round", "MUG,Mug,10.00,19", 1},
		{"a tax rounded down", "PIN,Pin,1.02,19", 1},
		{"a tax rounded up", "CUP,Cup,9.99,19", 1},
		{"a tax of exactly half a cent", "BAG,Paper bag,0.50,19", 1},
		{"a discount rounded up", "TEA,Tea,3.49,0", 13},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := products(t, tt.record)
			order := Order{Number: "1", Lines: []OrderLine{{tt.record[:3], tt.quantity}}}
			paid, err := New(order, all)
			if err != nil {
				t.Fatal(err)
			}
			back, err := New(order.Credited(), all)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := back.Net, -paid.Net; got != want {
				t.Errorf("net is %v, want %v", got, want)
			}
			if got, want := back.Taxes[0].Amount, -paid.Taxes[0].Amount; got != want {
				t.Errorf("tax is %v, want %v", got, want)
			}
			if got, want := back.Total, -paid.Total; got != want {
				t.Errorf("total is %v, want %v", got, want)
			}
		})
	}
}

func TestCreditedLeavesTheOrderAlone(t *testing.T) {
	order := Order{Number: "1", Lines: []OrderLine{{"MUG", 3}}}
	back := order.Credited()
	if order.Number != "1" || order.Lines[0].Quantity != 3 {
		t.Errorf("the order became %+v", order)
	}
	if back.Number != "1-C" || back.Lines[0].Quantity != -3 {
		t.Errorf("the credited order is %+v, want number 1-C and quantity -3", back)
	}
}
