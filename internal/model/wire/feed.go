package wire

import (
	"bytes"
	"io"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// feed is the body of a stream in the form that the SDKs read: events that are JSON objects, with
// their types where the API has types, and no end that the SDKs would take for that of the stream.
// It ends with a classified error where a provider sent an error or something else.
type feed struct {
	events  *events
	attempt *attempt
	out     []byte // encoded events; out[at:] was not read
	at      int
	err     error // classified, of an event
}

// Read returns bytes of one event: the SDK must not read ahead, because the response may be
// complete with it.
func (f *feed) Read(p []byte) (int, error) {
	for f.at == len(f.out) {
		if f.err != nil {
			return 0, f.err
		}
		if f.attempt.decoder.Progress() == Done || !f.events.next() {
			return 0, f.end()
		}
		f.out, f.at = f.out[:0], 0
		f.err = f.add(f.events.kind, f.events.data)
	}
	n := copy(p, f.out[f.at:])
	f.at += n
	return n, nil
}

// end is the error of a stream without more events.
func (f *feed) end() error {
	if f.events.err != nil {
		return f.events.err
	}
	return io.EOF
}

// Close does nothing: [attempt] closes the body, of which it reads the rest.
func (f *feed) Close() error { return nil }

// add encodes an event, or returns the error that it is.
func (f *feed) add(kind string, data []byte) error {
	faults := f.attempt.endpoint.Faults
	switch {
	case bytes.HasPrefix(data, []byte("[DONE]")):
		f.attempt.decoder.End()
		return nil
	case string(data) == "null":
		return nil
	}
	data, err := object(data)
	if err != nil {
		if kind == "error" {
			return faults.Midstream(data)
		}
		return faults.Unreadable(err, data)
	}
	failed := kind == "error"
	if own := gjson.GetBytes(data, "type"); f.attempt.endpoint.api.Typed && own.Str != "" {
		kind = own.Str
	} else if f.attempt.endpoint.api.Typed {
		data, _ = sjson.SetBytes(data, "type", kind) // of an object
	}
	fault := gjson.GetBytes(data, "error")
	switch {
	case failed || kind == "error" || Present(fault.Raw):
		f.attempt.decoder.Failed(data)
		return faults.Midstream(data)
	case fault.Exists(): // any is the end to the SDK
		data, _ = sjson.DeleteBytes(data, "error")
	}
	if f.attempt.endpoint.api.Typed {
		f.out = append(append(append(f.out, "event: "...), kind...), '\n')
	}
	f.out = append(f.out, "data: "...)
	for i, line := range bytes.Split(data, []byte("\n")) { // white space between values
		if i > 0 {
			f.out = append(f.out, ' ')
		}
		f.out = append(f.out, line...)
	}
	f.out = append(f.out, "\n\n"...)
	return nil
}
