package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/model"
)

// EventStream is the content type of a stream.
const EventStream = "text/event-stream"

// Canned answers every request with a status of success and the same body. It is
// an [http.RoundTripper] that keeps the last request's body.
type Canned struct {
	Kind string // content type
	Body func() io.Reader
	Sent []byte
}

// RoundTrip implements [http.RoundTripper].
func (c *Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		c.Sent, _ = io.ReadAll(r.Body) // from memory
		_ = r.Body.Close()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {c.Kind}}, Body: io.NopCloser(c.Body()), Request: r,
	}, nil
}

// Recorded is the result of a recording.
type Recorded struct {
	Response *model.Response  `json:"response,omitempty"`
	Class    model.ErrorClass `json:"class,omitempty"`
	Error    string           `json:"error,omitempty"`
	// Next is the response as it goes into the request after it, in the wire's form.
	Next json.RawMessage `json:"next,omitempty"`
}

// Recordings plays every file of a pattern to the model that open makes with
// the client, split in two (nightly at each byte, else at a sample) and byte by byte,
// and compares what comes of it with the file of the same name that ends in .json, which update
// writes first. history names the field of a request that holds the
// conversation.
func Recordings(t *testing.T, pattern, history string, update bool, open func(*http.Client) model.Model) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tape := &Canned{Kind: EventStream, Body: func() io.Reader { return bytes.NewReader(data) }}
			m := open(&http.Client{Transport: tape})
			want := outcomeOf(t, m)
			with := want
			if want.Response != nil {
				with.Next = followed(t, m, tape, *want.Response, history)
			}
			golden(t, strings.TrimSuffix(file, filepath.Ext(file))+".json", with, update)
			for at := 0; at < len(data); at += sampling() {
				tape.Body = func() io.Reader { return io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(data[at:])) }
				if diff := cmp.Diff(want, outcomeOf(t, m)); diff != "" {
					t.Fatalf("split at byte %d the result differs (-whole +split):\n%s", at, diff)
				}
			}
			tape.Body = func() io.Reader { return iotest.OneByteReader(bytes.NewReader(data)) }
			if diff := cmp.Diff(want, outcomeOf(t, m)); diff != "" {
				t.Errorf("byte by byte the result differs (-whole +bytes):\n%s", diff)
			}
		})
	}
}

// sampling returns how far apart the bytes are at which recordings are split: each
// split plays the entire recording.
func sampling() int {
	if testing.Short() {
		return 97
	}
	return nightly.Count(7, 1, 1) // prime: no form of event is always split in the same positions
}

// asked is the conversation whose response is recorded.
func asked() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}}
}

// outcomeOf returns the result of the response of m.
func outcomeOf(t *testing.T, m model.Model) Recorded {
	t.Helper()
	resp, err := m.Stream(t.Context(), asked(), nil)
	var failed *model.Error
	if errors.As(err, &failed) {
		return Recorded{Class: failed.Class, Error: err.Error()}
	}
	if err != nil {
		t.Fatal(err)
	}
	return Recorded{Response: &resp}
}

// followed returns what stands behind the first message of the request that
// follows a response.
func followed(t *testing.T, m model.Model, tape *Canned, resp model.Response, history string) json.RawMessage {
	t.Helper()
	req := asked()
	req.Messages = append(req.Messages, next(resp)...)
	if _, err := m.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var sent map[string]json.RawMessage
	var list []json.RawMessage
	if err := errors.Join(json.Unmarshal(tape.Sent, &sent), json.Unmarshal(sent[history], &list)); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(list[1:])
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// golden compares a value with a file that holds it.
func golden(t *testing.T, path string, got Recorded, update bool) {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
