package planned

import (
	"strings"

	"github.com/millhand/millhand/internal/view"
)

// SetupFlags returns the flags for setup commands that are separated by commas.
func SetupFlags(commands string) string {
	var flags []string
	for command := range strings.SplitSeq(commands, ", ") {
		flags = append(flags, "--setup "+view.Quote(command))
	}
	return strings.Join(flags, " ")
}
