package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/millhand/millhand/internal/permission/reach"
)

// maxURL is the maximum length of a URL in bytes; a longer one is more likely
// to exfiltrate data than to name a page.
const maxURL = 2 << 10

// Reach are the hosts that may be reached. The zero value allows none.
type Reach struct {
	Public bool // all public addresses
	// Hosts may be reached in addition; see [reach.Parse].
	Hosts []string
	// Within must allow a host, too; nil for no further limit.
	Within *Reach
}

// Refusal returns why a URL may not be fetched, judged by its text, or "". The
// address of its host is checked when it is dialed.
func (r Reach) Refusal(address string) string {
	u, err := parse(address)
	if err != nil {
		return err.Error()
	}
	return r.refusal(u)
}

// parse parses a URL and checks its form.
func parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("URL too long: %d bytes, maximum %d", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid URL (%w)", err)
	}
	return u, nil
}

func (r Reach) refusal(u *url.URL) string {
	host, ok := reach.Canonical(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "only http and https URLs are supported"
	case u.User != nil:
		return "URLs with a user name or password are not supported"
	case !ok:
		return "URL has no host"
	}
	if err := r.allowed(host, portOf(u), netip.Addr{}); err != nil {
		return err.Error()
	}
	return ""
}

// allowed returns an error if a host may not be reached; see
// [reach.Hosts.Allowed]. Invalid entries allow nothing; manifests with such
// entries are rejected before a run.
func (r Reach) allowed(host string, port int, at netip.Addr) error {
	hosts, _ := reach.Parse(r.Hosts, r.Public)
	if err := hosts.Allowed(host, port, at); err != nil || r.Within == nil {
		return err
	}
	return r.Within.allowed(host, port, at)
}

// portOf returns the port of a URL.
func portOf(u *url.URL) int {
	if p, err := strconv.Atoi(u.Port()); err == nil {
		return p
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
