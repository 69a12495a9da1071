package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/printable"
)

// MaxLog is the maximum size of logs that are used, in bytes.
const MaxLog = 64 << 10

// tail returns the end of a text, from the start of a line.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-most:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "(truncated)\n" + text
}

var (
	hexWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(0x)?[0-9a-f]{7,}\b`) })
	digits  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })
	blanks  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[ \t]+`) })
)

// signatureLines is the number of lines of a log that identify a failure.
const signatureLines = 60

// Signature identifies failed checks with the ends of their logs, without numbers, hashes and
// times.
func Signature(checks []Check) string {
	h := sha256.New()
	for _, c := range checks {
		lines := strings.Split(strings.TrimSpace(printable.Text(tail(c.Log, MaxLog))), "\n")
		text := strings.Join(lines[max(0, len(lines)-signatureLines):], "\n")
		text = hexWord().ReplaceAllString(strings.ToLower(text), "0")
		text = blanks().ReplaceAllString(digits().ReplaceAllString(text, "0"), " ")
		fmt.Fprintf(h, "%d:%s%d:%s", len(c.Name), c.Name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
