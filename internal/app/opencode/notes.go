package opencode

import (
	"fmt"
	"strings"
)

// notes are about what has no counterpart, or needs the user.
type notes struct{ texts []string }

// note records what was not converted, and where it is written.
func (o *notes) note(n *node, format string, args ...any) {
	o.texts = append(o.texts, strings.TrimSpace(n.at+": "+fmt.Sprintf(format, args...)))
}
