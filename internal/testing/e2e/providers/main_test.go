// Package providers tests the program with the wires of providers: their faults and refusals,
// fallback, prices, recordings, and a fake provider that others wrote.
package providers

import (
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScripts(t *testing.T) { scripts.Run(t) }
