// Package ecosystems tests the program with package managers: their caches, the setup of
// dependencies, and attacks on it.
package ecosystems

import (
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

func TestScripts(t *testing.T) { scripts.Run(t) }
