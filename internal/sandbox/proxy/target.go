package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// errTarget is the cause when a target can't be made sense of.
var errTarget = errors.New("not a host and port")

// Target takes HOST or HOST:PORT apart as a request names it. The host comes
// back in lower case and without a dot at its end, or as an address in its
// canonical form; a port that is missing is fallback, or a fault if that is 0.
// What could be read in two ways is a fault: names that look like numbers,
// zones, users, characters that no name has.
func Target(text string, fallback int) (host string, port int, err error) {
	host, port = text, fallback
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		n, err := strconv.ParseUint(text[i+1:], 10, 16)
		if err != nil || text[i+1] == '+' {
			return "", 0, fmt.Errorf("%w: %q", errTarget, text)
		}
		host, port = text[:i], int(n)
	}
	if port == 0 {
		return "", 0, fmt.Errorf("%w: %q", errTarget, text)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || ip.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", 0, fmt.Errorf("%w: %q", errTarget, text)
		}
		return ip.String(), port, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return ip.String(), port, nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !isName(host) {
		return "", 0, fmt.Errorf("%w: %q", errTarget, text)
	}
	return host, port, nil
}

// isName reports whether a text is the name of a host, and can't be taken for
// an address: WHATWG's URL standard reads a name whose last label is a number
// as an IPv4 address, with octal and hexadecimal parts.
func isName(host string) bool {
	if len(host) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
		last = label
	}
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}
