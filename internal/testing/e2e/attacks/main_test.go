// Package attacks tests the program on repositories and with models that attack it.
package attacks

import (
	"testing"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, func(w *world.World) { w.System = nil }) }
