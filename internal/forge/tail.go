package forge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxLog bounds what is read of a log, in bytes.
const maxLog = 256 << 20

// Tail returns the end of a text, at most so many bytes. The path is below the base of the API, and is escaped.
// A forge may redirect to another server, which does not get the token.
func (s *Sender) Tail(ctx context.Context, c Call, path string, most int) (string, error) {
	e, err := s.exchange(c)
	if err != nil {
		return "", err
	}
	e.target = s.base.String() + path
	if e.token, err = s.token(ctx, e.Owner); err != nil {
		return "", fmt.Errorf("%s: %w", c.What, err)
	}
	for {
		text, res, err := e.tail(ctx, most)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil && res.status < 300 {
			return text, nil
		}
		if _, err := e.again(ctx, res, err); err != nil {
			return "", err
		}
	}
}

// tail makes one attempt.
func (e *exchange) tail(ctx context.Context, most int) (string, *response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("timed out after %s", requestTimeout))
	defer cancel()
	client := &http.Client{Transport: e.s.client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	target := e.target
	for hops := 0; ; hops++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
		if err != nil {
			return "", nil, err
		}
		req.Header.Set("User-Agent", e.s.UserAgent)
		if hops == 0 {
			e.authorize(req)
		}
		res, err := client.Do(req)
		if err != nil {
			return "", nil, err
		}
		next, err := res.Location()
		if err == nil && res.StatusCode/100 == 3 {
			res.Body.Close()
			if hops == maxRedirects || next.Scheme != "https" && !loopback(&url.URL{Host: next.Host}) {
				return "", nil, errRedirect
			}
			target = next.String()
			continue
		}
		text, err := lastBytes(res.Body, most)
		res.Body.Close()
		return text, &response{res.StatusCode, res.Header, []byte(text)}, err
	}
}

// lastBytes reads a text and returns its last bytes.
func lastBytes(from io.Reader, most int) (string, error) {
	limited := io.LimitReader(from, maxLog)
	var last []byte
	block := make([]byte, 32<<10)
	for {
		n, err := limited.Read(block)
		last = append(last, block[:n]...)
		if len(last) > 4*most {
			last = append(last[:0], last[len(last)-most:]...)
		}
		if err == io.EOF {
			return string(last[max(0, len(last)-most):]), nil
		}
		if err != nil {
			return "", err
		}
	}
}
