// Package requests decides which changes of a forge a job makes: what its agent requests in the final message, and what the task
// allows of it. It sends nothing, and knows neither jobs nor remotes.
package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

const (
	property = "requests" // of the final message
	message  = "message"  // likewise, without an output schema
	maxAsked = 50         // requests of one message
)

// Schema returns the schema of a final message with requests: that of the task, nil for a text, with another property. It accepts
// requests that the task does not allow, which are refused and reported; the model reads what is allowed.
func Schema(r tasks.Requests, output map[string]any) map[string]any {
	if output == nil {
		output = map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{message},
			"properties": map[string]any{message: text("Your final message")},
		}
	}
	schema := maps.Clone(output)
	properties, _ := schema["properties"].(map[string]any)
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]any{}
	}
	properties[property] = map[string]any{
		"type": "array", "maxItems": maxAsked, "items": map[string]any{"anyOf": items(r)},
		"description": "Changes on the forge to make after your work has passed, each with one property; empty if none is needed. Others than the described ones are refused",
	}
	schema["properties"] = properties
	required, _ := schema["required"].([]any)
	schema["required"] = append(slices.Clone(required), property)
	return schema
}

// items returns the schemas of the kinds of requests.
func items(r tasks.Requests) []any {
	labels := "Not allowed"
	if r.MaxLabels > 0 {
		labels = fmt.Sprintf("Label to add to the %s; at most %d of: %s", thread(r), r.MaxLabels, strings.Join(r.Labels, ", "))
	}
	return []any{
		item("label", text(labels)),
		item("issue", object(allowed(r.MaxIssues, "New issue"), map[string]any{"title": text("Title, in one line"), "body": text("Markdown")})),
		item("comment", text(allowed(r.MaxComments, "Comment, in Markdown, on the "+thread(r)))),
	}
}

func allowed(most int, what string) string {
	if most == 0 {
		return "Not allowed"
	}
	return fmt.Sprintf("%s; at most %d", what, most)
}

func thread(r tasks.Requests) string {
	switch {
	case r.Thread.Number == 0:
		return "pull request of your change"
	case r.Thread.Issue:
		return fmt.Sprintf("issue %d", r.Thread.Number)
	}
	return fmt.Sprintf("pull request %d", r.Thread.Number)
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func item(name string, value map[string]any) map[string]any {
	return object("", map[string]any{name: value})
}

// object returns the schema of an object that has all properties and no others.
func object(description string, properties map[string]any) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	var required []any
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		required = append(required, name)
	}
	o["required"] = required
	if description != "" {
		o["description"] = description
	}
	return o
}

// Split separates the requests from a final message that matches [Schema]. output is the rest of the document, nil without an
// output schema, and final the message.
func Split(doc json.RawMessage, hasOutput bool) (final string, output json.RawMessage, asked []event.ForgeRequest) {
	var rest bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(doc))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return string(doc), doc, nil
	}
	rest.WriteByte('{')
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return string(doc), doc, nil
		}
		switch name, _ := key.(string); {
		case name == property:
			asked = parse(value)
			continue
		case name == message && !hasOutput:
			_ = json.Unmarshal(value, &final) // is a text
		}
		if rest.Len() > 1 {
			rest.WriteByte(',')
		}
		quoted, _ := json.Marshal(key) // is a text
		rest.Write(quoted)
		rest.WriteByte(':')
		rest.Write(value)
	}
	rest.WriteByte('}')
	if !hasOutput {
		return final, nil, asked
	}
	return rest.String(), rest.Bytes(), asked
}

// parse returns the requests of a list.
func parse(list json.RawMessage) (asked []event.ForgeRequest) {
	var all []struct {
		Label, Comment *string
		Issue          *struct{ Title, Body string }
	}
	if json.Unmarshal(list, &all) != nil {
		return nil
	}
	for _, r := range all[:min(len(all), maxAsked)] {
		switch {
		case r.Label != nil:
			asked = append(asked, event.ForgeRequest{Kind: event.LabelRequest, Label: *r.Label})
		case r.Issue != nil:
			asked = append(asked, event.ForgeRequest{Kind: event.IssueRequest, Title: r.Issue.Title, Body: r.Issue.Body})
		case r.Comment != nil:
			asked = append(asked, event.ForgeRequest{Kind: event.CommentRequest, Body: *r.Comment})
		}
	}
	return asked
}
