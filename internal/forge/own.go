package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// call is one request without a client library.
type call struct {
	what   string // for errors
	owner  string // whose token is sent
	method string
	path   []string // segments below the base URL, not escaped
	query  url.Values
	body   any // as JSON; nil for none
	out    any // for the response's JSON; nil ignores it

	landed func(context.Context) (bool, error) // as in [Call]
}

// send sends a request without a client library.
func (s *Sender) send(ctx context.Context, c call) (http.Header, error) {
	return s.do(ctx, c.call(), func(ctx context.Context) error {
		_, err := s.request(ctx, c)
		return err
	})
}

func (c call) call() Call {
	return Call{What: c.what, Owner: c.owner, Landed: c.landed}
}

// request sends a request with a context of [Sender.Do], and reads its response.
func (s *Sender) request(ctx context.Context, c call) (http.Header, error) {
	target, payload, err := s.prepare(c)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: s}).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || c.out == nil {
		return res.Header, err
	}
	return res.Header, json.Unmarshal(body, c.out)
}

// prepare returns the URL and the body of a request.
func (s *Sender) prepare(c call) (target string, payload []byte, err error) {
	target = s.base.String()
	for _, segment := range c.path {
		parts := strings.Split(segment, "/")
		if slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, "..") {
			return "", nil, fmt.Errorf("invalid name %q", segment)
		}
		target += "/" + url.PathEscape(segment)
	}
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	if c.body != nil {
		payload, err = json.Marshal(c.body)
	}
	return target, payload, err
}

// pages sends a GET request for each page of a list, and passes its entries and header to add,
// which returns whether to continue.
func pages[T any](ctx context.Context, s *Sender, c call, add func([]T, http.Header) bool) error {
	return eachPage(ctx, s, c, func(page []T, header http.Header) (int, bool) { return len(page), add(page, header) })
}

// eachPage is like pages for responses of which a list is only a field. add also returns the
// number of entries.
func eachPage[P any](ctx context.Context, s *Sender, c call, add func(P, http.Header) (entries int, more bool)) error {
	return s.Pages(ctx, c.call(), func(ctx context.Context) (int, bool, error) {
		var page P
		c.out = &page
		header, err := s.request(ctx, c)
		if err != nil {
			return 0, false, err
		}
		entries, more := add(page, header)
		return entries, more, nil
	})
}
