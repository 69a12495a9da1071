package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// shortest is how long a secret must be, in bytes: shorter ones stand in too
// many texts by chance.
const shortest = 8

// Redactor takes secrets out of texts. nil takes out none. It is safe for
// concurrent use.
type Redactor struct {
	forms []string // longest first
	out   *strings.Replacer
}

// New makes a Redactor of secrets; those under 8 bytes are left out.
func New(secrets []string) *Redactor {
	var forms []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= shortest {
			forms = append(forms, encodings(s)...)
		}
	}
	if len(forms) == 0 {
		return nil
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	forms = slices.Compact(forms)
	var pairs []string
	for _, f := range forms {
		pairs = append(pairs, f, Mark)
	}
	return &Redactor{forms: forms, out: strings.NewReplacer(pairs...)}
}

// encodings lists the forms of a secret: as it is, in hexadecimal, in a URL, in
// JSON, and in base64 wherever it begins in a longer text.
func encodings(s string) []string {
	forms := []string{s, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))), url.QueryEscape(s), url.PathEscape(s)}
	if quoted, err := json.Marshal(s); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, inner(enc, s, shift))
		}
	}
	return forms
}

// inner is what of a text's base64 follows from the secret alone when it begins
// at a byte that is shift above a multiple of 3: the digits at either end hold
// bits of its neighbours, too.
func inner(enc *base64.Encoding, s string, shift int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	first := []int{0, 2, 3}[shift]
	last := len(text)
	if (shift+len(s))%3 != 0 {
		last--
	}
	return text[first:last]
}

// In reports whether a text holds a secret.
func (r *Redactor) In(text string) bool {
	return r != nil && slices.ContainsFunc(r.forms, func(f string) bool { return strings.Contains(text, f) })
}

// Text returns a text without the secrets.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return r.out.Replace(text)
}
