package forge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPages limits a list: a forge that always announces another page must not keep a run
// busy forever.
const maxPages = 500

// Pages is like [Sender.Do] for each page of a list: send is called with the same arguments each time, and
// returns the number of entries of the page, and whether to continue. The pages are those that the responses
// announce.
func (s *Sender) Pages(ctx context.Context, c Call, send func(context.Context) (entries int, more bool, err error)) error {
	size := 0
	for n := 1; n <= maxPages; n++ {
		var entries int
		var more bool
		header, err := s.do(ctx, c, func(ctx context.Context) (err error) {
			entries, more, err = send(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if strings.HasPrefix(header.Get("X-GitHub-SSO"), "partial-results") {
			return fmt.Errorf("%s: %s: %w: the token is not authorized for the single sign-on of an organization; authorize it there", c.What, s.base.Host, ErrIncomplete)
		}
		size = max(size, entries)
		next, ok := nextPage(header)
		if !ok {
			next, ok = countedPage(header, n, size)
		}
		if !more || !ok {
			return nil
		}
		page := joinedQuery(c.page, next)
		if page.Encode() == c.page.Encode() {
			return fmt.Errorf("%s: %s: %w: the next page is the same one", c.What, s.base.Host, ErrIncomplete)
		}
		c.page = page
	}
	return fmt.Errorf("%s: %s: %w: more than %d pages", c.What, s.base.Host, ErrIncomplete, maxPages)
}

// countedPage returns the query parameters of the page after n pages with at most size entries, if a
// list announces only the number of all of them, as those of Gitea's reviews and labels do.
func countedPage(h http.Header, n, size int) (url.Values, bool) {
	total, err := strconv.Atoi(h.Get("X-Total-Count"))
	if err != nil || h.Get(pageHeader) != "" || size == 0 || n*size >= total {
		return nil, false
	}
	return url.Values{"page": {strconv.Itoa(n + 1)}}, true
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

func joinedQuery(a, b url.Values) url.Values {
	all := url.Values{}
	for _, q := range []url.Values{a, b} {
		maps.Copy(all, q)
	}
	return all
}
