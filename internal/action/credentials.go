package action

import (
	"errors"
	"strings"
	"unicode"
)

// KeyVariable returns the environment variable in which the provider of a
// model looks for its key. Without a model, or with one that needs no key, it
// is OpenAI's.
func KeyVariable(model string) string { return provider(model) + "_API_KEY" }

// BaseURLVariable returns the environment variable of a provider's endpoint.
func BaseURLVariable(model string) string { return provider(model) + "_BASE_URL" }

// provider is what the environment variables of a model's provider begin with.
func provider(model string) string {
	name, _, ok := strings.Cut(model, "/")
	switch {
	case !ok || strings.Contains(name, ":"):
		return "OPENAI"
	case name == "google":
		return "GEMINI"
	case name == "azure":
		return "AZURE_OPENAI"
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return unicode.ToUpper(r)
	}, name)
}

// Key checks the key of a provider, as it came in. White space around it is
// how secrets are often stored by mistake. The error does not hold it.
func Key(text string) (string, error) {
	key := strings.TrimSpace(text)
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return "", errors.New("input api-key: a key is one line of text, and this is not; see what the secret holds")
	}
	return key, nil
}
