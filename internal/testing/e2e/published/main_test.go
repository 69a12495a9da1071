// Package published tests the program with MCP servers, language servers and plugins that others
// published, unchanged, each by its name and version. They are installed once, into the cache of
// the user, and only at night.
package published

import (
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }
