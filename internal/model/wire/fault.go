package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/textcut"
)

// Faults creates classified errors without the client's secrets.
type Faults struct {
	secrets *strings.Replacer
	now     func() time.Time
}

// messageLength limits the length of a provider's message in an error, in bytes.
const messageLength = 2000

// secrets redacts the key and the values of added headers and of the query, which can
// be keys too. Short values are not secrets, and redacting them would garble the text.
func secrets(o Options) *strings.Replacer {
	var pairs []string
	for _, value := range o.Header {
		if len(value) >= 8 {
			pairs = append(pairs, value, "[header]")
		}
	}
	for _, value := range o.Query {
		if len(value) >= 8 {
			pairs = append(pairs, value, "[query]")
		}
	}
	if len(o.APIKey) >= 8 {
		pairs = append(pairs, o.APIKey, "[key]")
	}
	return strings.NewReplacer(pairs...)
}

// clean makes foreign text safe for a log: without secrets and unprintable characters,
// and of limited length.
func (f Faults) clean(s string) string {
	s = f.secrets.Replace(strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return textcut.Head(textcut.OneLine(s), messageLength, "...")
}

// transport is the error of a failed connection to to.
func (f Faults) transport(doing string, to *url.URL, err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err // the URL may contain a key
	}
	text := doing + ": " + f.clean(err.Error())
	if fix := remedy(to, err); fix != "" {
		return unusable(0, text, fix)
	}
	return model.Fail(model.ClassUnavailable, errors.New(text))
}

// Garbled is the error of an invalid response.
func (f Faults) Garbled(format string, args ...any) error {
	return model.Fail(model.ClassProtocol, errors.New(f.clean(fmt.Sprintf(format, args...))))
}

// Unreadable is the error of a chunk that is not a JSON object.
func (f Faults) Unreadable(err error, data []byte) error {
	return f.Garbled("response chunk is not a JSON object (%v): %s", err, Quote(string(data)))
}

// Quote returns the start of a response for an error.
func Quote(data string) string { return textcut.Head(data, headLength, "...") }

// status is the error of a response with an error status.
func (f Faults) status(resp *http.Response, body []byte) error {
	said := parseComplaint(body)
	text := said.text()
	if text == "" {
		text = cmp.Or(textcut.Head(string(body), headLength, "..."), http.StatusText(resp.StatusCode), "no reason given")
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		text = "the endpoint redirects to " + to.Scheme + "://" + to.Host + to.Path
	}
	if id := cmp.Or(resp.Header.Get("X-Request-Id"), resp.Header.Get("Request-Id"), resp.Header.Get("X-Amzn-Requestid")); id != "" {
		text += " [request " + textcut.Head(id, 100, "...") + "]"
	}
	if fix := refusedBefore(resp, text); fix != "" {
		return unusable(resp.StatusCode, f.clean(text), fix)
	}
	return &model.Error{
		Class:      classify(resp.StatusCode, said),
		Status:     resp.StatusCode,
		RetryAfter: retryAfter(resp.Header, f.now),
		Err:        errors.New(f.clean(text)),
	}
}

// Midstream is the error of a failure that was sent as data, after a successful status.
func (f Faults) Midstream(data []byte) error {
	said := parseComplaint(data)
	text := cmp.Or(said.text(), textcut.Head(string(data), headLength, "..."))
	return model.Fail(classify(0, said), complaintError("provider error in the response: "+f.clean(text)))
}

// complaintError is a provider's error instead of a response, or of the rest of it.
type complaintError string

func (e complaintError) Error() string { return string(e) }

// complaint is a provider's error in any of its forms.
type complaint struct {
	message string
	code    string // "context_length_exceeded"; from OpenAI and compatible servers
	kind    string // "invalid_request_error"
	number  int    // a numeric code, usually an HTTP status
}

func (c complaint) text() string {
	if c.message == "" || c.code == "" {
		return cmp.Or(c.message, c.code, c.kind)
	}
	return c.message + " (" + c.code + ")"
}

// parseComplaint decodes the known forms: {"error":{...}}, {"error":"..."}, the
// fields without a wrapper, any of them in a list, and an upstream error
// under metadata.raw. It returns an empty complaint for invalid JSON.
func parseComplaint(data []byte) complaint {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(data, &outer) != nil {
		return complaint{}
	}
	inner := outer
	if wrapped, ok := outer["error"]; ok {
		if s := Text(wrapped); s != "" {
			return complaint{message: s}
		}
		inner = nil
		_ = json.Unmarshal(wrapped, &inner) // otherwise there are no details
	}
	c := complaint{
		message: cmp.Or(Text(inner["message"]), Text(inner["detail"])),
		code:    Text(inner["code"]),
		kind:    cmp.Or(Text(inner["type"]), Text(inner["status"])),
	}
	_ = json.Unmarshal(inner["code"], &c.number) // most codes are strings
	var metadata struct{ Raw json.RawMessage }
	_ = json.Unmarshal(inner["metadata"], &metadata) // rare
	if raw := Text(metadata.Raw); raw != "" {
		c.message += ": " + raw
	}
	return c
}

// Text is the value of a JSON string, "" for anything else.
func Text(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// decisive has codes that are more specific than any status.
var decisive = map[string]model.ErrorClass{
	"context_length_exceeded":    model.ClassContext,
	"insufficient_quota":         model.ClassQuota,
	"billing_not_active":         model.ClassQuota,
	"billing_hard_limit_reached": model.ClassQuota,
	"billing_error":              model.ClassQuota,
	"model_not_found":            model.ClassUnknown,
	"not_found_error":            model.ClassUnknown,
	"request_too_large":          model.ClassContext,
}

// telling has the codes and kinds that replace a missing status.
var telling = map[string]model.ErrorClass{
	"authentication_error":  model.ClassAuth,
	"permission_error":      model.ClassAuth,
	"invalid_api_key":       model.ClassAuth,
	"invalid_request_error": model.ClassRequest,
	"invalid_prompt":        model.ClassRequest,
	"rate_limit_error":      model.ClassRate,
	"rate_limit_exceeded":   model.ClassRate,
	"too_many_requests":     model.ClassRate,
	"timeout_error":         model.ClassUnavailable,
	"overloaded_error":      model.ClassUnavailable,
	"accessDeniedException": model.ClassAuth, // of AWS, from here on
	"throttlingException":   model.ClassRate,
	"validationException":   model.ClassRequest,
}

// tooLong matches messages of providers without a code about a conversation that is
// too long.
var tooLong = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)context[_ ]length[_ ]exceeded|maximum context length|maximum prompt length` +
		`|exceeds? (the |model |its )?(maximum )?(available )?context (window|length|limit|size)` +
		`|context window exceeds|greater than the context length|exceed(ed|s)? (the )?model('s)? token limit` +
		`|(prompt|input) is too long|input token count.{0,60}exceeds|reduce the length of the messages` +
		`|request entity too large|exceeds the limit of \d+ tokens`)
})

func classify(status int, said complaint) model.ErrorClass {
	for _, code := range []string{said.code, said.kind} {
		if class, ok := decisive[code]; ok {
			return class
		}
	}
	switch status {
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		if tooLong().MatchString(said.message) {
			return model.ClassContext
		}
	}
	if status == 0 && said.number >= 400 {
		status = said.number
	}
	if status != 0 {
		return classOfStatus(status)
	}
	return cmp.Or(telling[said.code], telling[said.kind], model.ClassUnavailable)
}

func classOfStatus(status int) model.ErrorClass {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ClassAuth
	case http.StatusPaymentRequired:
		return model.ClassQuota
	case http.StatusNotFound:
		return model.ClassUnknown
	case http.StatusRequestEntityTooLarge:
		return model.ClassContext
	case http.StatusTooManyRequests:
		return model.ClassRate
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return model.ClassUnavailable
	}
	if status >= 500 {
		return model.ClassUnavailable
	}
	return model.ClassRequest
}

// maxRetryAfter replaces longer values.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter returns the wait that the provider requests (RFC 9110,
// section 10.2.3, and OpenAI's retry-after-ms): -1 if it is missing or invalid.
func retryAfter(h http.Header, now func() time.Time) time.Duration {
	if d, ok := asked(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := asked(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil && now != nil {
		if d := at.Sub(now()); d >= 0 {
			return min(d, maxRetryAfter)
		}
	}
	return -1
}

func asked(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0) { // NaN too
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}
