package printable

import "regexp"

// Pause is a zero width space: it separates characters that forges would act on.
const Pause = "\u200b"

var (
	// Mentions notify people, references to issues leave a trace there and close them
	// after words such as "fixes", and images are loaded from servers.
	notifying = regexp.MustCompile(`([@#!])([\w\["])`)
	closing   = regexp.MustCompile(`(?i)\b(GH|[A-Z][A-Z0-9]+)-(\d)`)
	issueURL  = regexp.MustCompile(`/(issues|pull|pulls|merge_requests|work_items)/(\d)`)
	entity    = regexp.MustCompile(`&(#?\w+;)`)
	tag       = regexp.MustCompile(`<([A-Za-z/!?])`)
	// A line that starts with a slash is a command for GitLab.
	quickAction = regexp.MustCompile(`(?m)^([\s>*+-]*)/`)
)

// Markdown returns a model's text as Markdown that notifies nobody, closes no issue, runs
// no command, loads no image and has no HTML.
func Markdown(text string) string {
	text = entity.ReplaceAllString(Text(text), "&amp;$1")
	text = tag.ReplaceAllString(text, "&lt;$1")
	return quickAction.ReplaceAllString(Pauses(text), "$1"+`\/`)
}

// Pauses separates the characters of mentions and of references to issues, which forges find in text
// and, some of them, in code.
func Pauses(text string) string {
	text = notifying.ReplaceAllString(text, "$1"+Pause+"$2")
	text = closing.ReplaceAllString(text, "$1-"+Pause+"$2")
	return issueURL.ReplaceAllString(text, "/$1/"+Pause+"$2")
}
