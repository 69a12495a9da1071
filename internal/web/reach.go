package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/millhand/millhand/internal/reach"
)

// maxURL is the longest URL that is fetched, in bytes: what is longer carries
// something away rather than naming a page.
const maxURL = 2 << 10

// Reach says what may be reached. The zero value reaches nothing.
type Reach struct {
	Public bool // every public address
	// Hosts may be reached whatever Public says; see [reach.Parse].
	Hosts []string
	// Within must let it, too; nil for nothing else that does.
	Within *Reach
}

// Refusal says why a URL may not be fetched, as far as its letters tell, and
// "" if it may. Where its name leads is looked at when it is dialled.
func (r Reach) Refusal(address string) string {
	u, err := parse(address)
	if err != nil {
		return err.Error()
	}
	return r.refusal(u)
}

// parse reads a URL that could be fetched.
func parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("a URL of %d bytes is never fetched: at most %d are taken", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("what is no URL is never fetched (%w)", err)
	}
	return u, nil
}

func (r Reach) refusal(u *url.URL) string {
	host, ok := reach.Canonical(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "only http and https URLs are fetched"
	case u.User != nil:
		return "a URL with a user or password in it is never fetched"
	case !ok:
		return "the URL names no host"
	}
	if err := r.allowed(host, portOf(u), netip.Addr{}); err != nil {
		return err.Error()
	}
	return ""
}

// allowed says why a host may not be reached, nil if it may; see
// [reach.Hosts.Allowed]. What can't be read reaches nothing: manifests are held to
// what can before anything runs.
func (r Reach) allowed(host string, port int, at netip.Addr) error {
	hosts, _ := reach.Parse(r.Hosts, r.Public)
	if err := hosts.Allowed(host, port, at); err != nil || r.Within == nil {
		return err
	}
	return r.Within.allowed(host, port, at)
}

// portOf is the port that a URL leads to.
func portOf(u *url.URL) int {
	if p, err := strconv.Atoi(u.Port()); err == nil {
		return p
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
