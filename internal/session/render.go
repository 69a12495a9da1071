package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	maxTextBytes   = 6000 // bytes of a text
	maxCallBytes   = 1000 // of a call's arguments
	maxResultBytes = 2000 // of a call's result
)

// render returns a conversation as text of about most bytes, for a summary. Long
// messages are shortened, and if that is not enough, the text has only the first
// messages (the prompt, and the summary of earlier messages) and the newest ones.
func render(messages []model.Message, most int) string {
	if len(messages) == 0 {
		return ""
	}
	first, n := shorten(rendered(messages[0]), most/3), 1
	if len(messages) > 1 && messages[1].Role == model.User {
		first, n = first+shorten(rendered(messages[1]), most/3), 2
	}
	left := most - len(first)
	var texts []string
	for _, m := range slices.Backward(messages[n:]) {
		text := rendered(m)
		if left -= len(text); left < 0 {
			texts = append(texts, "[...]\n\n")
			break
		}
		texts = append(texts, text)
	}
	slices.Reverse(texts)
	return first + strings.Join(texts, "")
}

func rendered(m model.Message) string {
	var b strings.Builder
	switch m.Role {
	case model.ToolRole:
		fmt.Fprintf(&b, "[result of %s]\n%s\n\n", m.Tool, shorten(m.Text, maxResultBytes))
		return b.String()
	case model.User:
		fmt.Fprintf(&b, "[user]\n%s\n\n", m.Text) // a prompt, or a summary: it counts
		return b.String()
	case model.Assistant:
	}
	if m.Text != "" {
		fmt.Fprintf(&b, "[agent]\n%s\n\n", shorten(m.Text, maxTextBytes))
	}
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "[agent calls %s] %s\n\n", c.Name, shorten(c.Input, maxCallBytes))
	}
	return b.String()
}

// shorten removes the middle of a text that is longer than most bytes.
func shorten(text string, most int) string {
	return textcut.Ends(text, most-most/3, most/3, "\n[...]\n")
}
