package printable

import (
	"regexp"
	"sync"
)

// Pause is a zero width space: it separates characters that forges would act on.
const Pause = "\u200b"

var (
	// Mentions notify people, references to issues leave a trace there and close them
	// after words such as "fixes", and images are loaded from servers.
	notifying = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([@#!])([\w\["])`) })
	closing   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(GH|[A-Z][A-Z0-9]+)-(\d)`) })
	issueURL  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`/(issues|pull|pulls|merge_requests|work_items)/(\d)`)
	})
)

// Pauses separates the characters of mentions and of references to issues, which forges find in text
// and, some of them, in code.
func Pauses(text string) string {
	text = notifying().ReplaceAllString(text, "$1"+Pause+"$2")
	text = closing().ReplaceAllString(text, "$1-"+Pause+"$2")
	return issueURL().ReplaceAllString(text, "/$1/"+Pause+"$2")
}
