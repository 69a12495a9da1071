package runs

import (
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/text/redact"
)

// cleaned redacts a text. JSON stays valid.
func cleaned(r *redact.Redactor, text string) string {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return string(r.JSON([]byte(text)))
	}
	return r.Text(text)
}
