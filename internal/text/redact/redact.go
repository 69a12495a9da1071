package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Mark replaces a secret.
const Mark = "[redacted]"

const (
	shortest  = 8   // minimum length of a secret, of each of its forms, and of a token, in bytes: shorter ones occur by chance
	window    = 12  // bytes of a window
	variety   = 4   // minimum number of different bytes in a window
	sentence  = 128 // bytes up to which a secret with white space is one, not several
	chunkSize = 16  // bytes of each of several
)

// Redactor removes secrets from texts. A nil Redactor removes none. It is safe
// for concurrent use.
type Redactor struct {
	mu       sync.RWMutex
	complete []string // forms that have no windows of their own
	windows  map[string]struct{}
	begins   bitmap // the first 8 bytes of each window
	tokens   []token
	starts   bitmap // the first 3 bytes of each token
}

// New returns a Redactor for known secrets; those shorter than 8 bytes are
// ignored.
func New(secrets []string) *Redactor {
	r := &Redactor{windows: map[string]struct{}{}, tokens: tokens()}
	for _, t := range r.tokens {
		r.starts.set(low(packed(t.prefix[:tokenStart])))
	}
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= shortest {
			r.hold(s)
		}
	}
	slices.Sort(r.complete)
	r.complete = slices.Compact(r.complete)
	return r
}

// Hold adds a secret that became known later. It does nothing for a nil Redactor.
func (r *Redactor) Hold(secret string) {
	if secret = strings.TrimSpace(secret); r == nil || len(secret) < shortest {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold(secret)
}

// hold adds a secret.
func (r *Redactor) hold(s string) {
	if len(s) > sentence && strings.ContainsAny(s, " \t\r\n") {
		r.complete = append(r.complete, encodings(s)...)
		for _, token := range strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"'`,", c) }) {
			if len(token) >= chunkSize && strings.ContainsAny(token, "0123456789") && !strings.Contains(token, "://") {
				r.hold(token)
			}
		}
		return
	}
	for _, form := range encodings(s) {
		if len(form) < window || !r.look(form) {
			r.complete = append(r.complete, form)
		}
	}
}

// look adds the windows of a form; false if a window has too few different
// bytes, so that the form must be searched in full, too.
func (r *Redactor) look(form string) bool {
	all := true
	for i := 0; i+window <= len(form); i++ {
		w := form[i : i+window]
		if different(w) < variety {
			all = false
			continue
		}
		r.windows[w] = struct{}{}
		r.begins.set(packed(w[:8]))
	}
	return all
}

// different returns the number of different bytes in a text.
func different(s string) int {
	var seen [256]bool
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

// encodings returns the forms of a secret: plain, reversed, hexadecimal,
// URL-encoded, JSON, and base64 at each possible alignment in a longer text.
func encodings(s string) []string {
	digits := hex.EncodeToString([]byte(s))
	backwards := []byte(s)
	slices.Reverse(backwards)
	forms := []string{s, string(backwards), digits, strings.ToUpper(digits), url.QueryEscape(s), url.PathEscape(s)}
	if quoted, err := json.Marshal(s); err == nil {
		text := strings.Trim(string(quoted), `"`)
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text) // as most write it
		forms = append(forms, text, plain)
	}
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, inner(enc, s, shift))
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// inner returns the base64 digits that depend only on the secret when it starts
// at an offset of shift modulo 3: the digits at both ends contain bits of
// neighboring bytes.
func inner(enc *base64.Encoding, s string, shift int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	first := []int{0, 2, 3}[shift]
	last := len(text)
	if (shift+len(s))%3 != 0 {
		last--
	}
	return text[first:last]
}

// Finding is the location of a secret in a text. It never contains the secret.
type Finding struct {
	Start, End int    // bytes
	Kind       string // what it is, in words
}

// held is the kind of the secrets passed to New.
const held = "a key or token that millhand holds"

// Find returns the secrets in a text, in order and without overlaps.
func (r *Redactor) Find(text string) []Finding { return r.find(text, true) }

// In reports whether a text contains a secret.
func (r *Redactor) In(text string) bool { return len(r.Find(text)) > 0 }

// Text redacts a text for output.
func (r *Redactor) Text(text string) string { return without(text, r.find(text, true)) }

// Held redacts only the secrets passed to New. It is for readers that may write
// the text back and would replace a key of their own with the mark.
func (r *Redactor) Held(text string) string { return without(text, r.find(text, false)) }

// without replaces the findings with marks. It preserves newlines, so that line
// numbers stay correct.
func without(text string, found []Finding) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(Mark)
		b.WriteString(strings.Repeat("\n", strings.Count(text[f.Start:f.End], "\n")))
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// find checks every byte once, with the seven before it.
func (r *Redactor) find(text string, guess bool) []Finding {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	var found []Finding
	var last uint64
	ended := 0 // of the last token
	for i := range len(text) {
		last = last<<8 | uint64(text[i])
		if guess && i >= ended+tokenStart-1 && r.starts.has(low(last)) {
			start := i - tokenStart + 1
			if n, kind := r.tokenAt(text, start); n > 0 {
				ended = start + n
				found = append(found, Finding{start, ended, kind})
			}
		}
		if i < 7 || !r.begins.has(last) {
			continue
		}
		start := i - 7
		end := start + window
		if end > len(text) {
			continue
		}
		if _, ok := r.windows[text[start:end]]; !ok {
			continue
		}
		if n := len(found) - 1; n >= 0 && found[n].Kind == held && found[n].End >= start {
			found[n].End = end
			continue
		}
		found = append(found, Finding{start, end, held})
	}
	return merged(append(found, r.completeMatches(text)...))
}

// completeMatches finds the forms without windows.
func (r *Redactor) completeMatches(text string) []Finding {
	var found []Finding
	for _, form := range r.complete {
		for at := 0; ; {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			found = append(found, Finding{at + i, at + i + len(form), held})
			at += i + len(form)
		}
	}
	return found
}

// merged sorts findings and merges overlapping ones.
func merged(found []Finding) []Finding {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := found[:1]
	for _, f := range found[1:] {
		p := &out[len(out)-1]
		if f.Start >= p.End {
			out = append(out, f)
			continue
		}
		p.End = max(p.End, f.End)
		if f.Kind == held {
			p.Kind = held
		}
	}
	return out
}

// bitmap is a set of numbers with rare false positives.
type bitmap [1 << (bitmapBits - 6)]uint64

const bitmapBits = 16

func (b *bitmap) set(x uint64) {
	h := mixed(x)
	b[h>>6] |= 1 << (h & 63)
}

func (b *bitmap) has(x uint64) bool {
	h := mixed(x)
	return b[h>>6]&(1<<(h&63)) != 0
}

func mixed(x uint64) uint64 { return x * 0x9E3779B97F4A7C15 >> (64 - bitmapBits) }

// packed returns the last 8 bytes of a text as a number.
func packed(s string) uint64 {
	var x uint64
	for i := range len(s) {
		x = x<<8 | uint64(s[i])
	}
	return x
}

// low is the part of a number that stands for the last bytes that a token can
// begin with.
func low(x uint64) uint64 { return x & (1<<(8*tokenStart) - 1) }
