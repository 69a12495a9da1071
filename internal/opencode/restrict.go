package opencode

import (
	"errors"
	"fmt"
	"strings"
)

// guard collects restrictions of a configuration that the manifest would not have.
type guard struct {
	stops []string // FILE:LINE: REASON
}

// stop records a restriction that the manifest would not have.
func (g *guard) stop(n *node, format string, args ...any) {
	g.stops = append(g.stops, strings.TrimSpace(n.at+": "+fmt.Sprintf(format, args...)))
}

// stopped returns the error of a configuration with restrictions that the manifest would not have.
func (g *guard) stopped() error {
	if g.stops == nil {
		return nil
	}
	return errors.New("agents could do more than in OpenCode, because these restrictions are not converted:\n  " + strings.Join(g.stops, "\n  ") +
		"\nremove them from the configuration, or write the manifest with a profile that has them; see docs/opencode.md")
}
