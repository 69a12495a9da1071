package redact

import "strings"

// tokenStart is the number of prefix bytes used to detect a token.
const tokenStart = 3

// token is the format of a service's keys.
type token struct {
	kind   string
	prefix string
	size   func(rest string) int // of what follows the prefix, 0 if it is no token
}

// tokens returns the known formats.
func tokens() []token {
	list := []token{
		{"a GitHub token", "github_pat_", run(words, 40)},
		{"a key of Anthropic", "sk-ant-", run(dashed, 20)},
		{"a key of OpenAI or another provider", "sk-", run(dashed, 32)},
		{"a key of Google", "AIza", run(dashed, 35)},
		{"a GitLab token", "glpat-", run(dashed, 20)},
		{"an npm token", "npm_", run(letters, 36)},
		{"a PyPI token", "pypi-AgEI", run(dashed, 40)},
		{"a Hugging Face token", "hf_", run(letters, 30)},
		{"a key of Stripe", "sk_live_", run(letters, 20)},
		{"a key of Stripe", "rk_live_", run(letters, 20)},
		{"a private key", "-----BEGIN ", pem},
		{"a signed token (JWT)", "eyJ", jwt},
	}
	for _, p := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		list = append(list, token{"a GitHub token", p, run(letters, 36)})
	}
	for _, p := range []string{"xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"} {
		list = append(list, token{"a Slack token", p, run(dashed, 10)})
	}
	for _, p := range []string{"AKIA", "ASIA"} {
		list = append(list, token{"a key of AWS", p, exactly(capitals, 16)})
	}
	for _, p := range []string{"Bearer ", "bearer ", "BEARER "} {
		list = append(list, token{"the credentials of a request", p, run(bearer, 20)})
	}
	for _, header := range []string{"Authorization", "authorization", "AUTHORIZATION"} {
		for _, scheme := range []string{"Basic ", "basic ", "token ", "Token "} {
			list = append(list, token{"the credentials of a request", header + ": " + scheme, run(bearer, 12)})
		}
	}
	return list
}

// tokenAt returns the size and the kind of the token at a position; 0 if there
// is no token.
func (r *Redactor) tokenAt(text string, at int) (size int, kind string) {
	if at > 0 && letters(text[at-1]) && !escaped(text[:at]) {
		return 0, "" // the end of another word
	}
	for _, t := range r.tokens {
		rest, ok := strings.CutPrefix(text[at:], t.prefix)
		if !ok {
			continue
		}
		if n := t.size(rest); n > 0 {
			return len(t.prefix) + n, t.kind
		}
	}
	return 0, ""
}

// escaped reports whether a text ends with a line end or tab as JSON has them.
func escaped(s string) bool {
	return strings.HasSuffix(s, `\n`) || strings.HasSuffix(s, `\t`) || strings.HasSuffix(s, `\r`)
}

// run is a token of at least so many characters.
func run(of func(byte) bool, least int) func(string) int {
	return func(rest string) int {
		n := length(rest, of)
		if n < least || !plausible(rest[:n]) {
			return 0
		}
		return n
	}
}

// exactly is a token of so many characters.
func exactly(of func(byte) bool, size int) func(string) int {
	return func(rest string) int {
		if n := length(rest, of); n != size || !plausible(rest[:n]) || n < len(rest) && words(rest[n]) {
			return 0
		}
		return size
	}
}

func length(s string, of func(byte) bool) int {
	n := 0
	for n < len(s) && of(s[n]) {
		n++
	}
	return n
}

// plausible distinguishes a key from a placeholder in an example.
func plausible(s string) bool {
	return strings.ContainsAny(s, "0123456789") && different(s) >= 7 && !strings.Contains(strings.ToUpper(s), "EXAMPLE")
}

// pem is the rest of a private key's block, as much of it as is there: after the
// label come lines of base64, perhaps written as in a string of a program, and
// before them the headers of older forms.
func pem(rest string) int {
	label, _, ok := strings.Cut(rest, "-----")
	if !ok || len(label) > 40 || !strings.HasSuffix(label, "PRIVATE KEY") {
		return 0
	}
	n := len(label) + len("-----")
	body := rest[n:]
	digits, at := 0, 0
	for at < len(body) {
		switch c := body[at]; {
		case letters(c) || strings.IndexByte("+/=", c) >= 0:
			digits++
			at++
		case strings.IndexByte(" \t\r\n\\\"',:-", c) >= 0 && !strings.HasPrefix(body[at:], "-----"):
			at++
		default:
			end := "-----END " + label + "-----"
			if strings.HasPrefix(body[at:], end) {
				at += len(end)
			}
			return pemSize(n+at, digits, body)
		}
	}
	return pemSize(n+at, digits, body)
}

// leastPEM is how much base64 makes a private key, and not a mention of one.
const leastPEM = 64

func pemSize(n, digits int, body string) int {
	if digits < leastPEM || different(body[:min(len(body), leastPEM)]) < 16 || !strings.HasPrefix(strings.TrimLeft(body, " \r"), "\n") && !strings.HasPrefix(body, `\n`) && !strings.HasPrefix(body, `\r\n`) {
		return 0
	}
	return n
}

// jwt is a token of three parts in base64, of which the second is JSON, too.
func jwt(rest string) int {
	head := length(rest, dashed)
	if head < 10 || !strings.HasPrefix(rest[head:], ".eyJ") {
		return 0
	}
	body := length(rest[head+1:], dashed)
	n := head + 1 + body
	if body < 10 || n >= len(rest) || rest[n] != '.' {
		return 0
	}
	sign := length(rest[n+1:], dashed)
	if sign < 10 {
		return 0
	}
	return n + 1 + sign
}

func letters(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
func capitals(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func words(c byte) bool    { return letters(c) || c == '_' }
func dashed(c byte) bool   { return words(c) || c == '-' }
func bearer(c byte) bool   { return dashed(c) || strings.IndexByte(".~+/=", c) >= 0 }
