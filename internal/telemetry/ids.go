package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// caller is the span below which a run's span is, from a W3C traceparent. Its
// ids are empty without one.
type caller struct {
	Trace, Span string // hexadecimal
	Unsampled   bool   // the caller does not record its trace: no span is sent
}

// parseParent reads a traceparent header; ok is false if it is invalid.
func parseParent(s string) (p caller, ok bool) {
	f := strings.Split(strings.TrimSpace(s), "-")
	if len(f) < 4 || len(f[0]) != 2 || f[0] == "ff" || f[0] == "00" && len(f) != 4 || !isHex(f[0], 2) || !isHex(f[1], 32) || !isHex(f[2], 16) || !isHex(f[3], 2) {
		return p, false
	}
	if strings.Trim(f[1], "0") == "" || strings.Trim(f[2], "0") == "" {
		return p, false
	}
	flags, _ := hex.DecodeString(f[3]) // checked above
	return caller{Trace: f[1], Span: f[2], Unsampled: flags[0]&1 == 0}, true
}

// isHex reports whether s has n lower case hexadecimal digits.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// ids makes the ids of one run.
type ids struct {
	run    string
	parent caller
}

func (i ids) trace() string {
	if i.parent.Trace != "" {
		return i.parent.Trace
	}
	return i.hash(16, "trace")
}

// span returns the id of the span of something, which a kind and names identify.
func (i ids) span(kind string, names ...string) string {
	return i.hash(8, append([]string{kind}, names...)...)
}

func (i ids) hash(bytes int, names ...string) string {
	sum := sha256.Sum256([]byte(i.run + "\x00" + strings.Join(names, "\x00")))
	return hex.EncodeToString(sum[:bytes])
}
