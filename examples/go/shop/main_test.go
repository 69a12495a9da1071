package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestRunPrintsAnInvoice(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-catalog", "testdata/catalog.csv", "-order", "testdata/order.json"}
	if err := run(args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Invoice 2026-0117", "12  MUG-330", "19% VAT", "7% VAT"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRunNamesTheFileOfAMistake(t *testing.T) {
	tests := map[string][]string{
		"missing.csv": {"-catalog", "missing.csv"},
		"main.go":     {"-catalog", "main.go"},
		"order.json":  {"-catalog", "testdata/catalog.csv", "-order", "order.json"},
	}
	for want, args := range tests {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run(%q) fails with %v, want an error with %q", args, err, want)
		}
	}
}
