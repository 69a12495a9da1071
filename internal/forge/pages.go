package forge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxPages limits a list: a forge that always announces another page must not keep a run
// busy forever.
const maxPages = 500

// pages sends a GET request for each page of a list, and passes its entries and header to add,
// which returns whether to continue.
func pages[T any](ctx context.Context, s *sender, c call, add func([]T, http.Header) bool) error {
	query := maps.Clone(c.query)
	for range maxPages {
		var page []T
		c.query, c.out = query, &page
		header, err := s.send(ctx, c)
		if err != nil {
			return err
		}
		if strings.HasPrefix(header.Get("X-GitHub-SSO"), "partial-results") {
			return fmt.Errorf("%s: %s: %w: the token is not authorized for the single sign-on of an organization; authorize it there", c.what, s.host, ErrIncomplete)
		}
		next, ok := nextPage(header)
		if !add(page, header) || !ok {
			return nil
		}
		query = maps.Clone(query)
		maps.Copy(query, next)
	}
	return fmt.Errorf("%s: %w: more than %d pages", c.what, ErrIncomplete, maxPages)
}

const pageHeader = "Link" // RFC 8288

// nextPage returns the query parameters of the next page. Only these of the
// announced URL are used: it could be on another server.
func nextPage(h http.Header) (url.Values, bool) {
	for _, value := range h.Values(pageHeader) {
		if target, ok := nextTarget(value); ok {
			if u, err := url.Parse(target); err == nil && u.RawQuery != "" {
				return u.Query(), true
			}
		}
	}
	if page := h.Get("X-Next-Page"); page != "" && strings.Trim(page, "0123456789") == "" {
		return url.Values{"page": {page}}, true
	}
	return nil, false
}

// nextTarget returns the target with the relation "next" of such a header.
func nextTarget(value string) (string, bool) {
	for {
		_, rest, ok := strings.Cut(value, "<")
		if !ok {
			return "", false
		}
		target, rest, ok := strings.Cut(rest, ">")
		if !ok {
			return "", false
		}
		params, _, _ := strings.Cut(rest, "<")
		for param := range strings.FieldsFuncSeq(params, func(r rune) bool { return r == ';' || r == ',' }) {
			name, relations, _ := strings.Cut(strings.TrimSpace(param), "=")
			relations = strings.Trim(strings.TrimSpace(relations), `"`)
			if strings.EqualFold(strings.TrimSpace(name), "rel") && slices.Contains(strings.Fields(strings.ToLower(relations)), "next") {
				return target, true
			}
		}
		value = rest
	}
}
