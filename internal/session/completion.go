package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/session/textcall"
	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	maxTruncated = 3 // consecutive responses that may be truncated at the output limit
	maxEmpty     = 1 // empty responses
	maxInvalid   = 2 // responses that don't match the schema
	maxCalled    = 1 // responses that end with a tool call written as text
)

const (
	askRest     = "Your response was truncated at the output limit. Continue exactly where it stopped, without repeating anything."
	askText     = "Your response was empty. Continue with the task; if it is done, summarize briefly what you did."
	askCall     = "Your response ends with a call of %s that was written as text: no tool was run. Call tools through the API, not in the text of a response. Continue with the task."
	askDocument = "Your response does not match the required schema: %v. Respond again with the complete JSON document that matches it, and nothing else. The schema is: %s"
)

// completion counts the final responses of one call of [Session.Run] that were not
// accepted.
type completion struct {
	text                              string // of a response that is not complete yet
	truncated, empty, invalid, called int
}

// call returns the name of the tool that a final response, or one without text, calls in the markup of a model's training;
// "" for none. A document that matches the schema is not one, whatever it looks like.
func (c completion) call(cfg Config, text, reasoning string) string {
	name := textcall.Ends(cmp.Or(strings.TrimSpace(text), reasoning), cfg.Tools.Has)
	if name == "" && (cfg.Schema == nil || Document(cfg.Schema, text) == nil) {
		name = textcall.Only(text, cfg.Tools.Has)
	}
	return name
}

// completed checks a response without calls. It returns nil if another response was
// requested.
func (s *Session) completed(resp model.Response) *End {
	c := &s.final
	if resp.Finish == model.FinishLength {
		c.text += resp.Text
		if c.truncated++; c.truncated > maxTruncated {
			return &End{Code: event.CodeFailed, Reason: fmt.Sprintf("model response truncated at its output limit %d times", c.truncated), Text: c.text, OfModel: true}
		}
		s.say(askRest)
		return nil
	}
	text := c.text + resp.Text
	c.text, c.truncated = "", 0
	if name := c.call(s.cfg, text, resp.Reasoning); name != "" {
		if c.called++; c.called > maxCalled {
			return &End{Code: event.CodeTextCall, Reason: fmt.Sprintf("the model wrote a call of the tool %s as text twice: no tool was run", textcut.OneLine(name)), Text: text, OfModel: true}
		}
		s.say(fmt.Sprintf(askCall, name))
		return nil
	}
	if strings.TrimSpace(text) == "" {
		if c.empty++; c.empty > maxEmpty {
			return &End{Code: event.CodeFailed, Reason: "model response empty twice", OfModel: true}
		}
		s.say(askText)
		return nil
	}
	if s.cfg.Schema != nil {
		return s.validated(text)
	}
	return &End{Text: text}
}

// Document returns the document of a final message that was accepted for a schema; nil if the
// message does not match it.
func Document(schemaOf map[string]any, message string) json.RawMessage {
	compiled, err := schema.Compile(schemaOf)
	if err != nil {
		return nil
	}
	doc, err := document(compiled, message)
	if err != nil {
		return nil
	}
	return doc
}

// validated checks a final response against the schema.
func (s *Session) validated(text string) *End {
	compiled, err := schema.Compile(s.cfg.Schema)
	if err != nil {
		return &End{Code: event.CodeFailed, Reason: "invalid output schema: " + err.Error(), Text: text}
	}
	output, err := document(compiled, text)
	if err == nil {
		return &End{Text: text, Output: output}
	}
	if s.final.invalid++; s.final.invalid > maxInvalid {
		return &End{Code: event.CodeFailed, Reason: fmt.Sprintf("model response does not match the output schema: %v", err), Text: text, OfModel: true}
	}
	wanted, _ := json.Marshal(s.cfg.Schema) // it was compiled
	s.say(fmt.Sprintf(askDocument, err, wanted))
	return nil
}
