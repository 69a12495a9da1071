package wire

import (
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// maxName is the maximum length of a model's name, in bytes.
const maxName = 200

// ModelName returns the name of a model in a response as one valid line of limited length. It is a copy: strings of
// the SDKs keep the event that they are from.
func ModelName(s string) string {
	return strings.Clone(textcut.Head(textcut.OneLine(strings.ToValidUTF8(s, "\uFFFD")), maxName, "…"))
}
