package redact

import (
	"slices"
	"strings"
)

// IsSecretName reports whether the name of a variable marks it as secret.
func IsSecretName(name string) bool {
	parts := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if n := len(parts); n > 0 && slices.Contains([]string{"FILE", "PATH", "DIR", "URL", "NAME"}, parts[n-1]) {
		return false
	}
	for _, word := range []string{
		"TOKEN", "KEY", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASS", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT", "APIKEY", "WEBHOOK", "AUTHORIZATION", "COOKIE",
	} {
		if slices.Contains(parts, word) {
			return true
		}
	}
	return false
}

// LooksSecret reports whether a value looks like a key, not a word, path or number.
func LooksSecret(value string) bool {
	value = strings.TrimSpace(value)
	return len(value) >= 16 && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, func(r rune) bool { return r > '9' }) &&
		!strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "~")
}
