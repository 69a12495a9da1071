package jshost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// runtimes are the programs that can be the host, in the order in which they are looked for.
var runtimes = []string{"node", "bun"}

// FindRuntime returns the path of a runtime: node or bun, or "auto" for the first on the PATH.
func FindRuntime(name, path string) (string, error) {
	names := []string{name}
	if name == "auto" || name == "" {
		names = runtimes
	}
	for _, dir := range filepath.SplitList(path) {
		for _, name := range names {
			full := filepath.Join(dir, name)
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(full) {
				return full, nil
			}
		}
	}
	return "", fmt.Errorf("%s was not found on the PATH; install Node.js 20 or newer, or Bun", strings.Join(names, " or "))
}

// Command returns the command line of the host, given the runtime and the directory of the program.
// The protocol gets descriptors of its own; what else is written goes to standard error.
func Command(runtime, dir string) []string {
	args := []string{"sh", "-c", `exec "$0" "$@" 3>&1 4<&0 1>&2 0</dev/null`, runtime}
	if filepath.Base(runtime) != "bun" {
		args = append(args, "--enable-source-maps", "--no-warnings")
	}
	return append(args, filepath.Join(dir, "host.mjs"))
}

// Write writes the program into a directory, which it creates.
func (p *Program) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the program of tool files and plugins: %w", err)
	}
	var errs []error
	for name, data := range p.Files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write the program of tool files and plugins: %w", err)
	}
	return nil
}
