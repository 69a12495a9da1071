package wiretest

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// Fault is what goes wrong with one request. The zero value is nothing.
type Fault struct {
	// In place of the turn:
	Silent bool // never answers
	Torn   bool // tears the connection before it answers
	Status int  // responds with this status, Header and Body; 200 is one too
	Body   string

	Header map[string]string // of the response; with a Status, none sets Content-Type to application/json

	// On the turn's stream of bytes:
	Rewrite func([]byte) []byte // replaces it
	Chunk   int                 // sends so many bytes together; 0 sends all
	Drip    time.Duration       // waits between two pieces
	Cut     int                 // tears the connection after so many bytes, if not 0
	Behind  bool                // tears the connection behind the last piece of the last call, before the end event
	Stall   int                 // sends no more after so many bytes, if not 0, and keeps the connection
	Hold    bool                // keeps the connection open at the end
}

// First makes the first n requests suffer f and leaves the others alone.
func First(n int, f Fault) func(int) Fault {
	return func(i int) Fault {
		if i < n {
			return f
		}
		return Fault{}
	}
}

// replaces serves the fault if that is all there is to serve.
func (f Fault) replaces(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f.Silent:
		<-r.Context().Done()
	case f.Torn:
		panic(http.ErrAbortHandler) // the way of net/http to tear a connection
	case f.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		for name, value := range f.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body) // a client that is gone misses nothing
	default:
		return false
	}
	return true
}

// send serves the stream, as far as the fault lets it.
func (f Fault) send(w http.ResponseWriter, r *http.Request, stream []byte) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	if f.Rewrite != nil {
		stream = f.Rewrite(stream)
	}
	end := len(stream)
	for _, short := range []int{f.Cut, f.Stall} {
		if short != 0 {
			end = min(end, short)
		}
	}
	if f.Behind {
		end = beforeEnd(stream)
	}
	if !f.write(w, r, stream[:end]) {
		return
	}
	switch {
	case f.Cut != 0, f.Behind:
		panic(http.ErrAbortHandler)
	case f.Stall != 0, f.Hold:
		<-r.Context().Done()
	}
}

// beforeEnd is where the event begins with the reason why the model stopped.
func beforeEnd(stream []byte) int {
	at := 0
	for _, end := range []string{`"finish_reason":"`, "event: message_delta", "event: response.completed"} {
		at = max(at, bytes.LastIndex(stream, []byte(end)))
	}
	return bytes.LastIndex(stream[:at], []byte("\n\n")) + 2
}

// write sends the bytes in pieces. It returns false when the client is gone.
func (f Fault) write(w http.ResponseWriter, r *http.Request, stream []byte) bool {
	flusher := http.NewResponseController(w)
	size := len(stream)
	if f.Chunk > 0 {
		size = f.Chunk
	}
	for len(stream) > 0 {
		n := min(size, len(stream))
		if _, err := w.Write(stream[:n]); err != nil {
			return false
		}
		if err := flusher.Flush(); err != nil {
			return false
		}
		stream = stream[n:]
		if f.Drip > 0 && len(stream) > 0 && !pause(r, f.Drip) {
			return false
		}
	}
	return true
}

func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}
