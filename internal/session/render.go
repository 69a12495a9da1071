package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/textcut"
)

const (
	mostSaid   = 6000 // bytes that are shown of a text
	mostCall   = 1000 // of a call's arguments
	mostAnswer = 2000 // of a call's answer
)

// render writes a conversation down as text of about most bytes, for a model
// that is to sum it up: long parts are shortened, and if that does not do, only
// what it begins with (the prompt, and a summary of what came before) and the
// newest messages stay.
func render(messages []model.Message, most int) string {
	if len(messages) == 0 {
		return ""
	}
	first, n := shorten(rendered(messages[0]), most/3), 1
	if len(messages) > 1 && messages[1].Role == model.User {
		first, n = first+shorten(rendered(messages[1]), most/3), 2
	}
	left := most - len(first)
	var parts []string
	for _, m := range slices.Backward(messages[n:]) {
		part := rendered(m)
		if left -= len(part); left < 0 {
			parts = append(parts, "[...]\n\n")
			break
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts)
	return first + strings.Join(parts, "")
}

func rendered(m model.Message) string {
	var b strings.Builder
	switch m.Role {
	case model.ToolRole:
		fmt.Fprintf(&b, "[answer of %s]\n%s\n\n", m.Tool, shorten(m.Text, mostAnswer))
		return b.String()
	case model.User:
		fmt.Fprintf(&b, "[user]\n%s\n\n", m.Text) // a prompt, or a summary: it counts
		return b.String()
	case model.Assistant:
	}
	if m.Text != "" {
		fmt.Fprintf(&b, "[agent]\n%s\n\n", shorten(m.Text, mostSaid))
	}
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "[agent calls %s] %s\n\n", c.Name, shorten(c.Input, mostCall))
	}
	return b.String()
}

// shorten keeps the beginning and the end of a text that is longer than most.
func shorten(text string, most int) string {
	return textcut.Ends(text, most-most/3, most/3, "\n[...]\n")
}
