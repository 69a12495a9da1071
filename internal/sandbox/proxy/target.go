package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// errTarget is the cause if a target is invalid.
var errTarget = errors.New("not a host and port")

// Target parses HOST or HOST:PORT. It returns the host in lower case without a trailing
// dot, or as an address in canonical form. A missing port is fallback, or an error if
// that is 0. Ambiguous targets are errors: names that look like numbers, zones, users,
// and characters that are invalid in names.
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

// isName reports whether a text is a host name that can't be interpreted as an address:
// the WHATWG URL standard parses a name whose last label is a number as an IPv4 address,
// with octal and hexadecimal parts.
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
