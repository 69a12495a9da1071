package printable

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON prints a document. Texts of others are escaped as in a report.
func WriteJSON(out io.Writer, doc any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := out.Write(JSON(text.Bytes()))
	return err
}
