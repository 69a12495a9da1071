package invoice

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func TestPrint(t *testing.T) {
	order := Order{
		Number: "2026-0117", Customer: "Corner Café",
		Lines: []OrderLine{{"MUG", 12}, {"TEA", 3}, {"POT", 1}},
	}
	inv, err := New(order, products(t, "MUG,Stoneware mug,8.40,19", "TEA,Green tea,4.95,7", "POT,Teapot,31.99,19"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Print(&got, inv); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/invoice.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the printed invoice is\n%swant\n%s", got.Bytes(), want)
	}
}
