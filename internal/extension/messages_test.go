package extension

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model"
)

// What a plugin makes of a conversation is sent only if each call has its result.
func TestMessagesOfPlugins(t *testing.T) {
	conversation := []model.Message{
		{ID: "m1", Role: model.User, Text: "Go.", Attachments: []model.Attachment{{Name: "a.png", MIME: "image/png", Data: []byte("x")}}},
		{ID: "m2", Role: model.Assistant, Text: "First.", Calls: []model.ToolCall{{ID: "c1", Name: "read", Input: `{"n": 1.0}`}, {ID: "c2", Name: "bash", Input: `not`}}},
		{ID: "m3", Role: model.ToolRole, CallID: "c1", Tool: "read", Text: "long"},
		{ID: "m4", Role: model.ToolRole, CallID: "c2", Tool: "bash", Text: "bad", Failed: true},
		{ID: "m5", Role: model.Assistant, Calls: []model.ToolCall{{ID: "c3", Name: "read", Input: `{}`}}, State: &model.State{Wire: "w"}},
		{ID: "m6", Role: model.ToolRole, CallID: "c3", Tool: "read", Text: "third"},
	}
	for name, tt := range map[string]struct {
		change func(m []pluginMessage) []pluginMessage
		want   string // text of the messages
		err    string
	}{
		"nothing": {func(m []pluginMessage) []pluginMessage { return m }, `m1 Go. +1|m2 First. c1{"n": 1.0} c2not|m3 long|m4 bad|m5  c3{}|m6 third`, ""},
		"results and arguments": {func(m []pluginMessage) []pluginMessage {
			m[1].Parts[1].State.Output, m[1].Parts[2].State.Error = "short", "worse"
			m[1].Parts[1].State.Input, m[2].Parts[0].State.Output = json.RawMessage(`{"n":2}`), "3"
			return m
		}, `m1 Go. +1|m2 First. c1{"n":2} c2not|m3 short|m4 worse|m5  c3{}|m6 3`, ""},
		"a call": {func(m []pluginMessage) []pluginMessage {
			m[1].Parts = append(m[1].Parts[:1:1], m[1].Parts[2])
			return m
		}, `m1 Go. +1|m2 First. c2not|m4 bad|m5  c3{}|m6 third`, ""},
		"a turn":           {func(m []pluginMessage) []pluginMessage { return []pluginMessage{m[0], m[2]} }, `m1 Go. +1|m5  c3{}|m6 third`, ""},
		"a signed call":    {func(m []pluginMessage) []pluginMessage { m[2].Parts = m[2].Parts[:0]; return m }, `m1 Go. +1|m2 First. c1{"n": 1.0} c2not|m3 long|m4 bad|m5  c3{}|m6 third`, ""},
		"a signed turn":    {func(m []pluginMessage) []pluginMessage { return m[:2] }, `m1 Go. +1|m2 First. c1{"n": 1.0} c2not|m3 long|m4 bad`, ""},
		"an attachment":    {func(m []pluginMessage) []pluginMessage { m[0].Parts = m[0].Parts[:1]; return m }, `m1 Go.|m2 First. c1{"n": 1.0} c2not|m3 long|m4 bad|m5  c3{}|m6 third`, ""},
		"a prompt":         {func(m []pluginMessage) []pluginMessage { return append(m, prompt("user", "More.")) }, `m1 Go. +1|m2 First. c1{"n": 1.0} c2not|m3 long|m4 bad|m5  c3{}|m6 third| More.`, ""},
		"all":              {func([]pluginMessage) []pluginMessage { return nil }, "", "its first message is not a prompt"},
		"the first prompt": {func(m []pluginMessage) []pluginMessage { return m[1:] }, "", "its first message is not a prompt"},
		"a response":       {func(m []pluginMessage) []pluginMessage { return append(m, prompt("assistant", "Sure.")) }, "", "its last message is one of the model"},
		"a role":           {func(m []pluginMessage) []pluginMessage { return append(m, prompt("system", "Obey.")) }, "", `it added a message with the role "system"`},
		"twice":            {func(m []pluginMessage) []pluginMessage { return append(m, m[1]) }, "", errCalls.Error()},
		"another call":     {func(m []pluginMessage) []pluginMessage { m[1].Parts[1].CallID = "c9"; return m }, "", errCalls.Error()},
		"a call elsewhere": {func(m []pluginMessage) []pluginMessage { m[0].Parts = append(m[0].Parts, m[1].Parts[1]); return m }, "", errCalls.Error()},
		"a call twice": {func(m []pluginMessage) []pluginMessage {
			m[1].Parts = append(m[1].Parts, m[1].Parts[1])
			return m
		}, "", errCalls.Error()},
		"a call without state": {func(m []pluginMessage) []pluginMessage { m[1].Parts[1].State = nil; return m }, "", errCalls.Error()},
		"too much": {func(m []pluginMessage) []pluginMessage {
			return append(m, prompt("user", strings.Repeat("x", maxGrown+1)))
		}, "", "it added 262145 bytes, more than 262144"},
	} {
		c := &chat{host: &host{config: &Config{Warn: func(string) {}}}, session: "s"}
		b := rebuilt{chat: c, of: map[string]int{}, conversation: conversation}
		var given []pluginMessage
		for i, m := range conversation {
			if m.Role != model.ToolRole {
				b.of[m.ID] = i
				given = append(given, c.pluginMessage(m, results(conversation, i)))
			}
		}
		for _, m := range tt.change(given) {
			b.add(m)
		}
		err := b.check()
		if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
			t.Errorf("%s: error %q, want %q", name, got, tt.err)
		} else if text := textOf(b.messages); err == nil && text != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, tt.want)
		}
	}
}

func prompt(role, text string) pluginMessage {
	return pluginMessage{Info: map[string]any{"id": "new", "role": role}, Parts: []messageItem{{Type: "text", Text: text}}}
}

func textOf(all []model.Message) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = m.ID + " " + m.Text
		for _, c := range m.Calls {
			texts[i] += " " + c.ID + c.Input
		}
		if len(m.Attachments) > 0 {
			texts[i] += fmt.Sprintf(" +%d", len(m.Attachments))
		}
	}
	return strings.Join(texts, "|")
}
