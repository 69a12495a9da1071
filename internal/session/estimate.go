package session

import (
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// tokens is the most tokens that a text of so many bytes has. Prose and code
// have about four bytes for each token, tables of numbers and scripts other
// than the Latin ones about three.
func tokens(bytes int) int64 { return int64(bytes)/3 + 1 }

const (
	frame     = 8       // tokens around a message or call
	imageCost = 5000    // tokens of an image at most, over the providers
	fileCost  = 300_000 // of another file: that of a hundred pages, which is the maximum of providers
)

func tokensOf(messages []model.Message) (sum int64) {
	for _, m := range messages {
		sum += frame + tokens(len(m.Text)+len(m.Reasoning))
		for _, c := range m.Calls {
			sum += frame + tokens(len(c.ID)+len(c.Name)+len(c.Input))
		}
		for _, a := range m.Attachments {
			if strings.HasPrefix(a.MIME, "image/") {
				sum += imageCost
			} else {
				sum += min(tokens(len(a.Data)), fileCost)
			}
		}
	}
	return sum
}

func tokensOfTools(specs []model.ToolSpec) (sum int64) {
	for _, t := range specs {
		schema, _ := json.Marshal(t.Schema) // checked when the tool was defined
		sum += frame + tokens(len(t.Name)+len(t.Description)+len(schema))
	}
	return sum
}
