package forge

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNextPage(t *testing.T) {
	for _, c := range []struct{ header, next, want string }{
		{`<https://api.github.com/organizations/1/repos?per_page=100&page=2>; rel="next", <https://api.github.com/x?page=9>; rel="last"`, "", "page=2&per_page=100"},
		{`<https://x/?page=1>; rel="prev", <https://x/?page=3>; title="a, b"; rel="next"`, "", "page=3"},
		{`<https://x/?page=3>; rel="last next"`, "", "page=3"},
		{`<https://x/?page=1>; rel="prev"`, "", ""},
		{"", "7", "page=7"},
		{"", "", ""},
		{"", "2&x=y", ""},
		{`<https://x/?page=3; rel="next"`, "", ""},
		{`<https://x/>; rel="next"`, "", ""},
	} {
		h := http.Header{}
		h.Set(pageHeader, c.header)
		h.Set("X-Next-Page", c.next)
		got, ok := nextPage(h)
		if got.Encode() != c.want || ok != (c.want != "") {
			t.Errorf("%q, X-Next-Page %q: got %q, want %q", c.header, c.next, got.Encode(), c.want)
		}
	}
}

func TestMessagesAreReadFromEachFormOfErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "field": "base", "code": "invalid"}]}`:                                    "Validation Failed: base invalid",
		`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for a:b."}]}`: "Validation Failed: A pull request already exists for a:b.",
		`{"message": {"base": ["is taken", "is bad"], "target": ["is missing"]}}`:                                                                          "base is taken, is bad: target is missing",
		`{"message": ["Another open merge request already exists"]}`:                                                                                       "Another open merge request already exists",
		`{"error": "insufficient_scope", "error_description": "needs api"}`:                                                                                "insufficient_scope: needs api",
		`{"message": "token is required", "url": "https://x/api/swagger"}`:                                                                                 "token is required",
		"upstream connect error\n\x1b[31mreset":                                                                                                            "upstream connect error reset",
		"<html>hello</html>":                                                                                                                               "",
		"":                                                                                                                                                 "",
		"[1]":                                                                                                                                              "[1]",
	} {
		if got := message([]byte(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestRateLimitsAreReadFromHeaders(t *testing.T) {
	now := time.Unix(2000000000, 0)
	for _, c := range []struct {
		status int
		header map[string]string
		body   string
		want   time.Duration // 0: no rate limit
	}{
		{403, nil, `{"message": "Must have admin rights"}`, 0},
		{404, map[string]string{"Retry-After": "5"}, "", 0},
		{403, map[string]string{"Retry-After": "5"}, "", 5 * time.Second},
		{429, map[string]string{"Retry-After": "0"}, "", time.Second},
		{429, map[string]string{"Retry-After": now.Add(9 * time.Second).UTC().Format(http.TimeFormat)}, "", 9 * time.Second},
		{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000010"}, "", 11 * time.Second},
		{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000000"}, "", time.Second},
		{403, map[string]string{"X-RateLimit-Remaining": "12", "X-RateLimit-Reset": "2000000010"}, "", 0},
		{429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "2000000010"}, "", 11 * time.Second},
		{429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "soon"}, "", time.Minute},
		{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}, "", maxWait},
		{403, nil, `{"message": "You have exceeded a secondary rate limit"}`, time.Minute},
		{403, nil, `{"message": "You have triggered an abuse detection mechanism"}`, time.Minute},
		{429, nil, "", time.Minute},
		{422, nil, `{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "was submitted too quickly"}]}`, time.Minute},
		{422, nil, `{"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}`, 0},
		{200, nil, `{"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}]}`, time.Minute},
		{200, nil, `{"errors": [{"message": "You have exceeded a secondary rate limit. Please wait."}]}`, time.Minute},
		{200, nil, `{"errors": [{"message": "Something went wrong while executing your query."}]}`, time.Second},
		{200, nil, `{"data": {"x": "rate limit"}}`, 0},
		{405, nil, `{"message": "Base branch was modified. Review and try the merge again."}`, time.Second},
		{405, nil, `{"message": "Merge commits are not allowed on this repository."}`, 0},
		{409, nil, `{"message": ["Another open merge request already exists for this source branch: !1"]}`, 0},
		{409, nil, `{"message": "SHA does not match HEAD of source branch: 1"}`, 0},
		{405, nil, `{"message": "405 Method Not Allowed"}`, 0},
	} {
		h := http.Header{}
		for key, value := range c.header {
			h.Set(key, value)
		}
		res := &response{c.status, h, []byte(c.body)}
		if got, all, again := res.delay(now, 0); got != c.want || again != (c.want != 0) || all != (c.want > firstWait) && c.header == nil {
			t.Errorf("%d %v %s: got %s, %v, %v, want %s", c.status, c.header, c.body, got, all, again, c.want)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(`<https://x/?page=2>; rel="next"`, "3", "5", "0", "2000000010")
	f.Add(`<<>;rel=next,<>;;rel`, "x", "Mon", "-1", "1e9")
	f.Fuzz(func(t *testing.T, header, next, after, left, reset string) {
		h := http.Header{pageHeader: {header}, "X-Next-Page": {next}, "Retry-After": {after}, "Ratelimit-Remaining": {left}, "Ratelimit-Reset": {reset}}
		if query, ok := nextPage(h); ok {
			if _, err := url.ParseQuery(query.Encode()); err != nil {
				t.Fatal(err)
			}
		}
		d, all, again := (&response{429, h, nil}).delay(time.Unix(2000000000, 0), 0)
		if !all || !again || d < time.Second || d > maxWait {
			t.Fatalf("wait %s", d)
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"message": {"a": ["b", {"field": "c", "code": "d"}]}, "errors": [[[[[[1]]]]]]}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := message(body)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x1b") || utf8.RuneCountInString(got) > maxMessage {
			t.Fatalf("message %q", got)
		}
	})
}

func TestPathsAreSplitAtTheLastSlash(t *testing.T) {
	for full, want := range map[string]Path{"a/b": {"a", "b"}, "a/b/c": {"a/b", "c"}, "x": {"", "x"}, "": {}} {
		if got := ParsePath(full); got != want {
			t.Errorf("%s: %v", strconv.Quote(full), got)
		}
	}
}
