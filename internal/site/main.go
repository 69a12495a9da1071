// Command site builds a website of the documents: go run ./internal/site -o DIR, in the root of the
// repository. The pages are complete without scripts, and need nothing from elsewhere.
package main

import (
	"flag"
	"fmt"
	"log"
)

func main() {
	out := flag.String("o", "site", "directory to write, which is created")
	flag.Parse()
	n, err := build(".", *out)
	if err != nil {
		log.SetFlags(0)
		log.Fatalf("site: %v", err)
	}
	fmt.Printf("%d pages in %s\n", n, *out)
}
