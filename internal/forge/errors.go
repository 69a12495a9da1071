package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/text/printable"
)

// Kinds of an [Error].
var (
	ErrNotFound    = errors.New("not found")
	ErrDenied      = errors.New("permission denied")
	ErrLimited     = errors.New("rate limited")
	ErrUnreachable = errors.New("unreachable")
	ErrInvalid     = errors.New("invalid request")
	ErrConflict    = errors.New("conflict")
)

// Error is a request that a forge did not fulfill.
type Error struct {
	What    string // what was attempted, for example "create pull request for fix in acme/web"
	Host    string
	Status  int       // of the last response; 0 if there was none
	Message string    // of the forge or the network, one line; may be ""
	RetryAt time.Time // when the forge accepts requests again; zero if it is unknown

	Anonymous bool // the request had no token

	kind error
}

// Error returns one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s: %v", e.What, e.Host, e.kind)
	if e.Status != 0 {
		text = fmt.Sprintf("%s: %s responded with status %d", e.What, e.Host, e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Anonymous && e.Status >= 400 && e.Status < 500 {
		text += " (no token was sent)"
	}
	if !e.RetryAt.IsZero() {
		text += "; retry after " + e.RetryAt.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return text
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.kind }

// ErrResponse is a response that lacks what it must have.
var ErrResponse = errors.New("unexpected response")

// CheckPull checks what identifies a pull request.
func CheckPull(number int64, address string) error {
	u, err := url.Parse(address)
	if number <= 0 || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%w: a pull request without number or URL", ErrResponse)
	}
	return nil
}

// kindOf returns the kind of a response without success.
func kindOf(status int) error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrDenied
	case http.StatusTooManyRequests:
		return ErrLimited
	case http.StatusConflict, http.StatusMethodNotAllowed, http.StatusNotAcceptable:
		return ErrConflict
	}
	if status >= 500 {
		return ErrUnreachable
	}
	return ErrInvalid
}

// maxMessage is the maximum length of a forge's message, in characters.
const maxMessage = 500

// message returns the text of an error's body in one line: of the three forges' JSON, or
// of another text; "" for HTML, which is a page for people.
func message(body []byte) string {
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") {
			return printable.Line(text, maxMessage)
		}
		return ""
	}
	var all []string
	for _, key := range []string{"message", "error", "error_description", "errors"} {
		for _, text := range texts(doc[key], 0) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return printable.Line(strings.Join(all, ": "), maxMessage)
}

// maxTexts limits the depth of nested messages.
const maxTexts = 4

// texts returns the texts in a message: GitLab's have lists by field, and GitHub's
// have objects with a field and a code or message.
func texts(v any, depth int) []string {
	if depth > maxTexts {
		return nil
	}
	var all []string
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, sub := range v {
			all = append(all, texts(sub, depth+1)...)
		}
	case map[string]any:
		if field, ok := v["field"].(string); ok {
			detail, _ := v["message"].(string)
			if detail == "" {
				detail, _ = v["code"].(string)
			}
			return []string{strings.TrimSpace(field + " " + detail)}
		}
		if text, ok := v["message"].(string); ok {
			return []string{text}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, key+" "+strings.Join(texts(v[key], depth+1), ", "))
		}
	}
	return all
}
