package session

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/redact"
)

// door is where requests leave for a model: it removes known secrets from them, whoever
// wrote them: a server, a tool file, a plugin, a hook, a command. What the model wrote stays, and so does the
// prompt, which is sent as it was given.
type door struct {
	known *redact.Redactor
	clean map[string]string // the texts of messages without secrets, by id
	tools []model.ToolSpec  // as they were
	sent  []model.ToolSpec  // without secrets
}

// request returns a request without secrets. It warns of tools that it lacks because their
// names contain one.
func (d *door) request(req model.Request, emit func(event.Event)) model.Request {
	if d.known == nil {
		return req
	}
	req.System = d.known.Held(req.System)
	req.Messages = d.messages(req.Messages)
	if len(req.Tools) > 0 && (len(d.tools) != len(req.Tools) || &d.tools[0] != &req.Tools[0]) {
		d.tools, d.sent = req.Tools, nil
		for _, t := range req.Tools {
			if d.known.Held(t.Name) == t.Name {
				d.sent = append(d.sent, d.tool(t))
			}
		}
		if n := len(d.tools) - len(d.sent); n > 0 {
			emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: figures.Count(n, "tool") + " not offered: a name contains a secret"}})
		}
	}
	if len(req.Tools) > 0 {
		req.Tools = d.sent
	}
	if len(req.Headers) > 0 {
		req.Headers = maps.Clone(req.Headers)
		for name, value := range req.Headers {
			req.Headers[name] = d.known.Held(value)
		}
	}
	return req
}

// messages checks each text once: the conversation only grows.
func (d *door) messages(all []model.Message) []model.Message {
	copied := false
	for i, m := range all {
		if m.Role == model.Assistant || m.Role == model.User && m.ID != "" { // without an id it is of a plugin
			continue
		}
		if seen, ok := d.clean[m.ID]; ok && m.ID != "" && seen == m.Text {
			continue
		}
		text := d.known.Held(m.Text)
		if text == m.Text {
			if d.clean == nil {
				d.clean = map[string]string{}
			}
			d.clean[m.ID] = text
			continue
		}
		if !copied {
			all, copied = slices.Clone(all), true
		}
		all[i].Text = text
	}
	return all
}

func (d *door) tool(t model.ToolSpec) model.ToolSpec {
	t.Description = d.known.Held(t.Description)
	text, err := json.Marshal(t.Schema)
	if err != nil {
		return t // the provider gets the same text, and none
	}
	if found := d.known.HeldJSON(text); string(found) != string(text) {
		var schema map[string]any
		if json.Unmarshal(found, &schema) == nil {
			t.Schema = schema
		}
	}
	return t
}
