package forge

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	limitWait = time.Minute         // after a rate limit without a time; doubles with each
	maxWait   = 30 * 24 * time.Hour // replaces longer waits that a forge requests
)

// response is a response that was read completely.
type response struct {
	status int
	header http.Header
	body   []byte
}

// limit returns how long to wait after a response that is a rate limit with a time. GitHub sends 403
// for most of its own, GitLab and Gitea send 429.
func limit(res *response, now time.Time) (time.Duration, bool) {
	if res.status != http.StatusTooManyRequests && res.status != http.StatusForbidden {
		return 0, false
	}
	if d, ok := retryAfter(res.header, now); ok {
		return max(d, time.Second), true
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		left, reset := res.header.Get(prefix+"Remaining"), res.header.Get(prefix+"Reset")
		if seconds, err := strconv.ParseUint(reset, 10, 40); err == nil && left == "0" {
			// The second in which the limit ends is rounded down.
			return max(min(time.Unix(int64(seconds), 0).Sub(now), maxWait-time.Second), 0) + time.Second, true
		}
	}
	return 0, false
}

// retryAfter returns the wait of a Retry-After header, in seconds or until a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, maxWait), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxWait), true
	}
	return 0, false
}
