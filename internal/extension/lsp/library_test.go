package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"runtime"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// messages is a stream of a message, and the end.
type messages struct {
	text  []byte
	ended chan struct{}
}

func (m *messages) ReadObject(v any) error {
	if m.text == nil {
		close(m.ended)
		return io.EOF
	}
	err := json.Unmarshal(m.text, v)
	m.text = nil
	return err
}

func (m *messages) WriteObject(any) error { return nil }

func (m *messages) Close() error { return nil }

// listOf returns a response whose result is a list of n objects.
func listOf(n int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc": "2.0", "id": 1, "result": [%s]}`, strings.TrimSuffix(strings.Repeat("{},", n), ","))
}

// TestLibraryDecodesResults fails when jsonrpc2 no longer makes values of a result that it returns as a text,
// also if nobody waits for it: then maxValues is not needed, and package jshost can use the library.
func TestLibraryDecodesResults(t *testing.T) {
	m := &messages{listOf(100_000), make(chan struct{})}
	size := uint64(len(m.text))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	jsonrpc2.NewConn(t.Context(), m, nil, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	<-m.ended
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used < 20*size {
		t.Errorf("%d bytes for a message of %d", used, size)
	}
}

func TestMessagesWithManyValues(t *testing.T) {
	text := listOf(maxValues)
	s := &stream{frames: frames{bufio.NewReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text))), nil}}
	var v json.RawMessage
	if err := s.ReadObject(&v); !errors.Is(err, io.EOF) || s.reason() == nil || s.reason().Error() != "message has more than 2097152 values" {
		t.Errorf("%v, %v", err, s.reason())
	}
}
