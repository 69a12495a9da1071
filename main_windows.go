package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "millhand: windows is not supported; run it in WSL, the Windows Subsystem for Linux")
	os.Exit(2)
}
