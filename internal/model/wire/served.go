package wire

import (
	"strings"

	"github.com/millhand/millhand/internal/textcut"
)

// maxName is the maximum length of a model's name, in bytes.
const maxName = 200

// ModelName returns the name of a model in a response as one valid line of limited length.
func ModelName(s string) string {
	return textcut.Head(textcut.OneLine(strings.ToValidUTF8(s, "\uFFFD")), maxName, "…")
}
