package mcp

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestAResponseWithoutTheIDOfARequestIsReported(t *testing.T) {
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                          `response id "7" is a string; the request's id was the number 7`,
		`{"jsonrpc":"2.0","id":"req-7","result":{}}`:                      `response id "req-7" is a string`,
		`{"jsonrpc":"2.0","id":null,"result":{}}`:                         "response without a valid id (null)",
		`{"jsonrpc":"2.0","result":{}}`:                                   "response without a valid id (none)",
		`{"jsonrpc":"2.0","id":[7],"result":{}}`:                          "response without a valid id ([7])",
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"what"}}`: `error without the id of a request: {"code":1,"message":"what"}`,
		`[{"jsonrpc":"2.0","id":7,"result":{}}]`:                          "response is a batch",
		`{"id":7,"result":{}}`:                                            "response without a valid id (7)",
		`{"level":"info"}`:                                                "",
		`[1]`:                                                             "",
		`[`:                                                               "",
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                            "",
		`{"jsonrpc":"2.0","id":7.0,"result":{}}`:                          "",
	} {
		for _, several := range []bool{false, true} {
			b := newInbox(func(Notice) {})
			note := func(id float64) {
				made, err := jsonrpc.MakeID(id)
				if err != nil {
					t.Fatal(err)
				}
				b.note(&jsonrpc.Request{ID: made, Method: callTool})
			}
			note(7)
			if several { // whose response it is, is not known
				note(8)
			}
			message, _ := b.take([]byte(text))
			response, _ := message.(*jsonrpc.Response)
			fault := ""
			if response != nil && response.Error != nil {
				fault = response.Error.Error()
			}
			if several && want != "" && !strings.Contains(text, `"7"`) {
				if fault != "" {
					t.Errorf("%s with two requests: error %q", text, fault)
				}
			} else if !strings.Contains(fault, want) || (want == "") != (fault == "") {
				t.Errorf("%s: error %q, want %q", text, fault, want)
			}
		}
	}
}
