package action

import (
	"errors"
	"strings"
	"unicode"
)

// KeyVariable returns the environment variable with the key of a model's provider.
// Without a model, or if it needs no key, it is OpenAI's.
func KeyVariable(model string) string { return provider(model) + "_API_KEY" }

// BaseURLVariable returns the environment variable with the provider's base URL.
func BaseURLVariable(model string) string { return provider(model) + "_BASE_URL" }

// provider returns the prefix of the environment variables of a model's provider.
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

// Key checks a provider's key and trims white space, which secrets often contain by
// mistake. The error does not contain the key.
func Key(text string) (string, error) {
	key := strings.TrimSpace(text)
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return "", errors.New("input api-key: must be one line of text; check the value of the secret")
	}
	return key, nil
}
