// Package hunks proves ablate on repositories of several languages: what is planted in a change is found, and nothing else is named.
package hunks

import (
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }
