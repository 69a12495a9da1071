package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/millhand/millhand/internal/model"
)

// read takes the answer in, in whichever form the server chose.
func (c *client) read(guard *watchdog, r *reply, a *answer) (model.Response, error) {
	body := bufio.NewReader(r.body)
	if bom, err := body.Peek(3); err == nil && string(bom) == "\uFEFF" {
		_, _ = body.Discard(3) // it was peeked at
	}
	var err error
	switch formOf(r.kind, body) {
	case formStream:
		err = c.readStream(guard, body, a)
	case formWhole:
		err = c.readWhole(body, a)
	default:
		guard.expect(grace(usageGrace))
		_, _ = io.CopyN(io.Discard, body, headLength) // as much as there is, to quote it
		err = c.faults.garbled("the answer is no event stream but %q: %s", r.kind, r.body.head)
	}
	if err != nil {
		return model.Response{}, err
	}
	resp, err := a.conclude()
	switch {
	case err == nil:
		return resp, nil
	case a.chunks == 0: // then what came is of interest
		return model.Response{}, c.faults.garbled("%v, with nothing in it: %s", err, r.body.head)
	}
	return model.Response{}, c.faults.garbled("%v", err)
}

// form is how an answer is sent.
type form int

const (
	formOther form = iota
	formStream
	formWhole
)

// formOf goes by the content type where that is an event stream's, else by how
// the body begins: there are servers that label their streams as plain text or
// JSON, and such as do not stream though they were asked to.
func formOf(contentType string, body *bufio.Reader) form {
	if media, _, _ := mime.ParseMediaType(contentType); media == "text/event-stream" {
		return formStream
	}
	for {
		b, err := body.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return formOther
		case err != nil:
			return formStream // which meets the error again
		}
		if b == ' ' || b == '\n' || b == '\r' || b == '\t' {
			continue
		}
		_ = body.UnreadByte() // it was just read
		break
	}
	start, _ := body.Peek(len("retry:")) // a shorter body is fine
	if start[0] == '{' {
		return formWhole
	}
	switch field, _, found := strings.Cut(string(start), ":"); field {
	case "", "data", "event", "id", "retry":
		if found {
			return formStream
		}
	}
	return formOther
}

// readStream reads events until the answer is whole. What follows then is
// waited for only a moment, since servers have been seen to keep the connection
// open.
func (c *client) readStream(guard *watchdog, body io.Reader, a *answer) error {
	// An event that the server forgot to end with an empty line is one too.
	ended := io.MultiReader(body, strings.NewReader("\n\n"))
	events := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(ended)})
	var patience time.Duration
	for !a.done && events.Next() {
		if err := c.readEvent(events.Event(), a); err != nil {
			return a.unlessFinished(err)
		}
		if now := a.patience(); now != patience {
			patience = now
			guard.expect(grace(now))
		}
	}
	if err := events.Err(); err != nil {
		return a.unlessFinished(c.broken(err))
	}
	if a.done { // a courtesy to the connection, which can be used again at its end only
		_, _ = io.Copy(io.Discard, io.LimitReader(body, faultLimit))
	}
	return nil
}

// unlessFinished drops a failure that can't spoil the answer any more.
func (a *answer) unlessFinished(err error) error {
	if a.finish != "" {
		return nil
	}
	return err
}

// patience is how long to wait for more: 0, which is no bound of its own, while
// the model goes on.
func (a *answer) patience() time.Duration {
	switch {
	case a.done, a.finish != "" && a.counted:
		return drainGrace
	case a.finish != "":
		return usageGrace
	}
	return 0
}

func (c *client) readEvent(event ssestream.Event, a *answer) error {
	data := bytes.TrimSpace(event.Data)
	switch {
	case len(data) == 0:
		return nil
	case bytes.HasPrefix(data, []byte("[DONE]")):
		a.done = true
		return nil
	case event.Type == "error":
		return c.faults.midstream(data)
	}
	return c.readChunk(data, a)
}

// readWhole reads an answer that did not stream. It has the form of one chunk
// whose choice holds a message in place of a delta.
func (c *client) readWhole(body io.Reader, a *answer) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return c.broken(err)
	}
	return c.readChunk(bytes.TrimSpace(data), a)
}

func (c *client) readChunk(data []byte, a *answer) error {
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return c.faults.garbled("a piece of the answer is no JSON object (%v): %s", err, cut(string(data), headLength))
	}
	if says(chunk.JSON.ExtraFields["error"].Raw()) {
		return c.faults.midstream(data)
	}
	if lost(chunk.JSON.Choices) {
		return c.faults.garbled("a piece of the answer has no proper choices: %s", cut(string(data), headLength))
	}
	for _, choice := range chunk.Choices {
		if fault := choice.JSON.ExtraFields["error"].Raw(); says(fault) {
			return c.faults.midstream([]byte(`{"error":` + fault + `}`))
		}
		if err := a.add(choice); err != nil {
			return c.faults.garbled("%v: %s", err, cut(string(data), headLength))
		}
	}
	a.count(chunk.Usage)
	return nil
}

// broken is an answer that stopped coming.
func (c *client) broken(err error) error {
	if errors.Is(err, errTooLong) || errors.Is(err, bufio.ErrTooLong) {
		return c.faults.garbled("read the answer: %v", err)
	}
	return c.faults.transport("the answer broke off", err)
}
