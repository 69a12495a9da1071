package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzEvents checks that a stream is read the same in any chunks, and that what is delivered
// was sent as the data of a complete event.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: {}\n\n", "id: 1\r\nevent: message\r\ndata: a\r\ndata: b\r\n\r\n", ": comment\n\nevent: other\ndata: x\n\n", "id: 7\nretry: 10\ndata:\n\n",
		"data: incomplete", "data: x\n", "\n\n\n", "id\ndata\n\n", "retry: 99999999999999999999\ndata: y\n\n", "id: \x00\ndata: z\n\n", "data:  two spaces \n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		read := func(r io.Reader) (all []string, s *events) {
			s = &events{}
			s.read(r)
			for {
				data, err := s.next()
				if err != nil {
					return all, s
				}
				all = append(all, string(data))
			}
		}
		all, s := read(bytes.NewReader(stream))
		again, other := read(iotest.OneByteReader(bytes.NewReader(stream)))
		if strings.Join(all, "\x00") != strings.Join(again, "\x00") || s.last != other.last || s.retry != other.retry {
			t.Errorf("got %q, %q, %s and %q, %q, %s", all, s.last, s.retry, again, other.last, other.retry)
		}
		if s.count != len(all) || s.retry < 0 || s.retry > maxRetry || len(s.last) > maxEventID {
			t.Errorf("%d events, %+v", len(all), s)
		}
		for _, data := range all {
			for line := range strings.SplitSeq(data, "\n") {
				if !bytes.Contains(stream, []byte(line)) || data == "" {
					t.Errorf("%q is not in the stream", data)
				}
			}
		}
	})
}

// FuzzMessages checks that no line of a server's output is lost or ends reading, that
// requests get a response, and that repaired results are JSON.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}},{"name":7},"x"]}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a"},{"type":"hologram"},7,null]}}`,
		`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		"Server running", "[1, 2]", "{not json", "", "{}", `{"jsonrpc":"2.0","id":1,"result":{"tools":{}}}`, "\xff\xfe{}", strings.Repeat("[", 1000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		var noise, refused int
		box := newInbox(func(n Notice) {
			if n.Kind == Noise {
				noise++
			}
			if n.Kind == Refused {
				refused++
			}
		})
		lines, responses, total := bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(output)), 16), 0, 0
		for {
			line, err := readLine(lines)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			total += len(line)
			for id, method := range map[int64]string{1: listTools, 2: callTool} {
				made, err := jsonrpc.MakeID(float64(id))
				if err != nil {
					t.Fatal(err)
				}
				box.note(&jsonrpc.Request{ID: made, Method: method})
			}
			message, refusal := box.take(bytes.TrimSpace(line))
			if message != nil && refusal != nil {
				t.Error("a refused request is delivered")
			}
			if refusal != nil {
				responses++
			}
			if message != nil {
				if one, err := jsonrpc.EncodeMessage(message); err != nil || !json.Valid(one) || bytes.Contains(one, []byte("\n")) {
					t.Errorf("the message of %q can't be encoded as a line: %q, %v", line, one, err)
				}
			}
			if r, ok := message.(*jsonrpc.Response); ok && r.Error == nil && len(r.Result) > 0 && !json.Valid(r.Result) {
				t.Errorf("result %q of %q is not JSON", r.Result, line)
			}
		}
		if rest := len(bytes.TrimSpace(output)); total < rest {
			t.Errorf("%d bytes of %d were read", total, rest)
		}
		if noise > 1 || responses != refused {
			t.Errorf("%d notices of noise, %d of %d requests got a response", noise, responses, refused)
		}
	})
}
