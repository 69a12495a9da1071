package catalog

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	c, err := Read(strings.NewReader("sku,name,price,vat\nMUG,\"Mug, blue\",8.40,19\nTEA,Green tea,4.95,7\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Product{SKU: "MUG", Name: "Mug, blue", Price: 840, VAT: 1900}
	if got, ok := c.Product("MUG"); !ok || got != want {
		t.Errorf("Product(MUG) = %+v, %t, want %+v", got, ok, want)
	}
	if got, ok := c.Product("mug"); ok {
		t.Errorf("Product(mug) = %+v, want none: case counts", got)
	}
}

func TestReadNamesTheLineOfAMistake(t *testing.T) {
	tests := map[string]string{
		"":                                       "header",
		"sku,price\n":                            "wrong number of fields",
		"sku,name,vat,price\n":                   "header",
		"sku,name,price,vat\nA,a,1,7\nB,b,x,7\n": "line 3: price",
		"sku,name,price,vat\nA,a,-1,7\n":         "line 2: price",
		"sku,name,price,vat\nA,a,1,700\n":        "line 2: vat",
		"sku,name,price,vat\n,a,1,7\n":           "line 2: the sku is empty",
		"sku,name,price,vat\nA,a,1,7\nA,b,2,7\n": "line 3: the sku A is there twice",
	}
	for text, want := range tests {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q) fails with %v, want an error with %q", text, err, want)
		}
	}
}
