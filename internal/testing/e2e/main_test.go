// Package e2e tests the program as its users run it, from the command line, also with the wires of providers. The packages
// below it test its surroundings.
package e2e

import (
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScripts(t *testing.T) {
	scripts.Run(t, "run_fixes_and_commits", "policy", "subagents", "secrets")
}
