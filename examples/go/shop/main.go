// Shop prints the invoice of an order, or the credit note that takes it back.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"example.com/shop/catalog"
	"example.com/shop/invoice"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run does what the arguments say. Usage goes to stderr.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	catalogFile := flags.String("catalog", "catalog.csv", "the products, a CSV `file`")
	orderFile := flags.String("order", "order.json", "the order, a JSON `file`")
	credit := flags.Bool("credit", false, "print the credit note that takes the order back")
	if err := flags.Parse(args); err != nil {
		return err
	}

	products, err := load(*catalogFile, catalog.Read)
	if err != nil {
		return err
	}
	order, err := load(*orderFile, invoice.ReadOrder)
	if err != nil {
		return err
	}
	if *credit {
		order = order.Credited()
	}
	inv, err := invoice.New(order, products)
	if err != nil {
		return err
	}
	return invoice.Print(stdout, inv)
}

// load opens a file and reads its content.
func load[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer file.Close()
	content, err := read(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}
