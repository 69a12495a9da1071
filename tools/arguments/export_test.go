package arguments

import "encoding/json"

// Offered returns the form in which a schema is offered, which need not be valid.
func Offered(text json.RawMessage) (map[string]any, error) {
	own, err := objectSchema(text)
	return offeredSchema(own), err
}
