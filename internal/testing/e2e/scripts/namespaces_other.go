//go:build !linux

package scripts

import (
	"fmt"
	"os"
)

// withoutNamespaces fails: only Linux has namespaces.
func withoutNamespaces() {
	fmt.Fprintln(os.Stderr, "without-namespaces: not supported")
	os.Exit(1)
}
