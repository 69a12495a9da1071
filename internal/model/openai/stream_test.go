package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

const eventStream = "text/event-stream"

// responseTo sends one request to a server that responds with the body.
func responseTo(tb testing.TB, kind string, body func() io.Reader) (model.Response, []model.Delta, error) {
	tb.Helper()
	m := New(Options{BaseURL: "http://model.test/v1", HTTPClient: &http.Client{Transport: &wiretest.Canned{Kind: kind, Body: body}}})
	var deltas []model.Delta
	resp, err := m.Stream(tb.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}},
		func(d model.Delta) { deltas = append(deltas, d) })
	return resp, deltas, err
}

// chunkings are ways in which the same bytes can arrive.
func chunkings(body string) map[string]func() io.Reader {
	full := func() io.Reader { return strings.NewReader(body) }
	ways := map[string]func() io.Reader{
		"whole":     full,
		"with EOF":  func() io.Reader { return iotest.DataErrReader(full()) },
		"in halves": func() io.Reader { return iotest.HalfReader(full()) },
	}
	if len(body) < 64<<10 {
		ways["byte by byte"] = func() io.Reader { return iotest.OneByteReader(full()) }
	}
	return ways
}

// event is a data line and the empty line after it.
func event(data string) string { return "data: " + data + "\n\n" }

// The pieces of the streams below.
var (
	hello  = event(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"hel"}}]}`) + event(`{"choices":[{"index":0,"delta":{"content":"lo"}}]}`)
	stop   = event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	counts = event(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`)
	done   = event(`[DONE]`)
	fine   = hello + stop + counts + done
)

func said(text string, change ...func(*model.Response)) model.Response {
	r := model.Response{Text: text, Finish: model.FinishStop, Usage: &money.Usage{Input: 10, Output: 2}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func uncounted(r *model.Response)                    { r.Usage = nil }
func finishing(f model.Finish) func(*model.Response) { return func(r *model.Response) { r.Finish = f } }
func calling(calls ...model.ToolCall) func(*model.Response) {
	return func(r *model.Response) { r.Calls = calls; r.Finish = model.FinishTools }
}

func toolDelta(entries string) string {
	return event(`{"choices":[{"index":0,"delta":{"tool_calls":[` + entries + `]}}]}`)
}

var (
	ends      = event(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`) + counts + done
	bashA     = model.ToolCall{ID: "a", Name: "bash", Input: `{"x":1}`}
	readB     = model.ToolCall{ID: "b", Name: "read", Input: `{"y":2}`}
	longLine  = strings.Repeat("long ", 1<<18)
	hugeInput = `{"x":"` + strings.Repeat("y", 1<<20) + `"}`
)

func TestStreamsThatAreTolerated(t *testing.T) {
	tests := []struct {
		name string
		body string
		want model.Response
	}{
		{"as it should be", fine, said("hello")},
		{"the name of the model", event(`{"model":"gpt-5-mini-2026-01-01","choices":[]}`) + fine, said("hello", func(r *model.Response) { r.Served = "gpt-5-mini-2026-01-01" })},
		{"a hostile name of the model", event(`{"model":"a\nb`+strings.Repeat("x", 500)+`","choices":[]}`) + fine, said("hello", func(r *model.Response) { r.Served = "a b" + strings.Repeat("x", 197) + "…" })},
		{"lines end with CR LF", strings.ReplaceAll(fine, "\n", "\r\n"), said("hello")},
		{"a byte order mark", "\uFEFF" + fine, said("hello")},
		{"no space after the colon", strings.ReplaceAll(fine, "data: ", "data:"), said("hello")},
		{"comments, other fields and empty events", ": ping\n\n" + "id: 7\nretry: 10\nevent: message\n" + hello + ":\n\ndata:\n\ndata: \n\nnonsense\n\n" + stop + counts + done, said("hello")},
		{"data in several lines", "data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"hello\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n" + counts + done, said("hello")},
		{"a line of 1 MB", event(`{"choices":[{"index":0,"delta":{"content":"`+longLine+`"}}]}`) + stop + counts + done, said(longLine)},
		{"a NUL and invalid UTF-8 in text", event("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\\u0000c\"}}]}") + stop + counts + done, said("a\uFFFDb\x00c")},
		{"a chunk with error null", event(`{"error":null,"choices":[{"index":0,"delta":{"content":"hel"},"error":null}],"usage":null}`) + event(`{"error":null,"choices":[{"index":0,"delta":{"content":"lo"}}]}`) + stop + counts + done, said("hello")},
		{"null and absent fields", event(`{"choices":[{"delta":{"content":null,"tool_calls":null,"refusal":null},"finish_reason":null,"logprobs":null}],"usage":null}`) + event(`{"choices":null}`) + event(`{}`) + event(`null`) + event(`{"choices":[{"delta":null}]}`) + fine, said("hello")},
		{"empty choices", event(`{"choices":[],"prompt_filter_results":[{}]}`) + fine, said("hello")},
		{"usage is missing", hello + stop + done, said("hello", uncounted)},
		{"usage is all zeros", hello + stop + event(`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`) + done, said("hello", uncounted)},
		{"usage twice, the last counts", event(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}`) + hello + event(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`) + counts + done, said("hello")},
		{"usage in strings", hello + stop + event(`{"choices":[],"usage":{"prompt_tokens":"10","completion_tokens":"2","total_tokens":"12"}}`) + done, said("hello")},
		{"usage in fractions", hello + stop + event(`{"choices":[],"usage":{"prompt_tokens":10.0,"completion_tokens":2.0}}`) + done, said("hello")},
		{"usage of the cache in strings", hello + stop + event(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":"4"}}`) + done, said("hello", func(r *model.Response) { r.Usage.CacheRead = 4 })},
		{"usage of the cache in fractions", hello + stop + event(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4.0}}`) + done, said("hello", func(r *model.Response) { r.Usage.CacheRead = 4 })},
		{"a number as content", event(`{"choices":[{"delta":{"content":15}}]}`) + stop + counts + done, said("15")},
		{"an index in a string", event(`{"choices":[{"index":"0","delta":{"content":"hello"}}]}`) + stop + counts + done, said("hello")},
		{"usage before the finish", hello + counts + stop + done, said("hello")},
		{"the end without [DONE]", hello + stop + counts, said("hello")},
		{"the end without usage and [DONE]", hello + stop, said("hello", uncounted)},
		{"the last event not ended", hello + strings.TrimSpace(stop), said("hello", uncounted)},
		{"an event cut off after the finish", hello + stop + "data: {\"choices\":[],\"us", said("hello", uncounted)},
		{"[DONE] without a finish reason", hello + counts + done, said("hello", finishing(model.FinishUnknown))},
		{"finish reason unknown", hello + strings.Replace(stop, "stop", "eos", 1) + counts + done, said("hello", finishing(model.FinishUnknown))},
		{"finish reason empty at first", event(`{"choices":[{"delta":{"content":"hello"},"finish_reason":""}]}`) + stop + counts + done, said("hello")},
		{"finish reason length", hello + strings.Replace(stop, "stop", "length", 1) + counts + done, said("hello", finishing(model.FinishLength))},
		{"finish reason content_filter", hello + strings.Replace(stop, "stop", "content_filter", 1) + counts + done, said("hello", finishing(model.FinishFilter))},
		{"an empty response", stop + counts + done, said("")},
		{"another choice is not ours", event(`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`) + fine, said("hello")},
		{"a message in place of deltas", event(`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`), said("hello")},
		{"content as a list of parts", event(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hello"}]}}]}`) + stop + counts + done, said("hello", func(r *model.Response) { r.Reasoning = "hm" })},
		{"reasoning_content", event(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`) + fine, said("hello", func(r *model.Response) { r.Reasoning = "hm" })},
		{"reasoning, told in two fields", event(`{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}`) + event(`{"choices":[{"delta":{"reasoning":"m","reasoning_content":null}}]}`) + fine, said("hello", func(r *model.Response) { r.Reasoning = "hmm" })},

		{"two calls", toolDelta(`{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}`) + toolDelta(`{"index":0,"function":{"arguments":"{\"x\":"}}`) + toolDelta(`{"index":1,"id":"b","function":{"name":"read","arguments":"{\"y\":2}"}},{"index":0,"function":{"arguments":"1}"}}`) + ends, said("", calling(bashA, readB))},
		{"calls that the accumulator of the SDK merges", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\":1}"}}`) + toolDelta(`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"y\":2}"}}`) + ends, said("", calling(bashA, readB))},
		{"calls without an index", toolDelta(`{"id":"a","function":{"name":"bash","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"read","arguments":"{\"y\":2}"}}`) + ends, said("", calling(bashA, readB))},
		{"calls without ids", toolDelta(`{"index":0,"id":null,"function":{"name":"bash","arguments":"{}"}},{"index":1,"id":"","function":{"name":"read","arguments":null}}`) + ends, said("", calling(model.ToolCall{ID: "call_1", Name: "bash", Input: "{}"}, model.ToolCall{ID: "call_2", Name: "read"}))},
		{"arguments as an object", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":{"x":1}}}`) + ends, said("", calling(bashA))},
		{"arguments of 1 MB", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"`+strings.ReplaceAll(hugeInput, `"`, `\"`)+`"}}`) + ends, said("", calling(model.ToolCall{ID: "a", Name: "bash", Input: hugeInput}))},
		{"arguments cut off are the model's affair", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x"}}`) + ends, said("", calling(model.ToolCall{ID: "a", Name: "bash", Input: `{"x`}))},
		{"calls with finish reason stop", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\":1}"}}`) + stop + counts + done, said("", calling(bashA))},
		{"calls with finish reason length", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\":1}"}}`) + strings.Replace(stop, "stop", "length", 1) + counts + done, said("", calling(bashA), finishing(model.FinishLength))},
		{"calls and [DONE] alone", toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\":1}"}}`) + counts + done, said("", calling(bashA))},
		{"calls in a message", event(`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"read","arguments":"{\"y\":2}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`), said("", calling(bashA, readB))},
	}
	for _, test := range tests {
		for way, body := range chunkings(test.body) {
			t.Run(test.name+", "+way, func(t *testing.T) {
				got, deltas, err := responseTo(t, eventStream, body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("response (-want +got):\n%.2000s", diff)
				}
				checkDeltas(t, deltas, got)
			})
		}
	}
}

// checkDeltas fails unless the pieces amount to the response.
func checkDeltas(t *testing.T, deltas []model.Delta, resp model.Response) {
	t.Helper()
	got := map[model.DeltaKind]string{}
	inputs := map[string]string{}
	for _, d := range deltas {
		if d.Kind == model.InputDelta {
			inputs[d.Call] += d.Text
		} else {
			got[d.Kind] += d.Text
		}
	}
	if got[model.TextDelta] != resp.Text || got[model.ReasoningDelta] != resp.Reasoning {
		t.Errorf("the deltas differ from the response")
	}
	for _, c := range resp.Calls {
		if inputs[c.ID] != c.Input {
			t.Errorf("the deltas of call %s differ from its input", c.ID)
		}
	}
}

// TestCallsThatAreNoFunctionsAreIgnored covers servers that add tools of their own.
func TestCallsThatAreNoFunctionsAreIgnored(t *testing.T) {
	custom := toolDelta(`{"index":0,"id":"c","type":"custom","custom":{"name":"search","input":""}}`) + toolDelta(`{"index":0,"custom":{"input":"go"}}`)
	ours := toolDelta(`{"index":1,"id":"a","type":"function","function":{"name":"bash","arguments":"{\"x\""}}`) + toolDelta(`{"index":1,"function":{"arguments":":1}"}}`)
	same := strings.ReplaceAll(ours, `"index":1`, `"index":0`)
	for name, body := range map[string]string{"before ours": custom + ours, "behind ours": ours + custom, "at the same index": custom + same} {
		got, _, err := responseTo(t, eventStream, func() io.Reader { return strings.NewReader(body + ends) })
		if err != nil || len(got.Calls) != 1 || got.Calls[0].Name != "bash" || got.Calls[0].Input != `{"x":1}` {
			t.Errorf("%s: got %+v, error %v", name, got, err)
		}
	}
	got, _, err := responseTo(t, eventStream, func() io.Reader { return strings.NewReader(custom + ends) })
	if err != nil || len(got.Calls) != 0 || got.Finish != model.FinishStop {
		t.Errorf("alone: got %+v, error %v", got, err)
	}
}

func TestInvalidStreams(t *testing.T) {
	cutOff := errors.New("connection reset by peer")
	tests := []struct {
		name    string
		kind    string
		body    string
		ends    error
		class   model.ErrorClass
		message []string
	}{
		{"a clean end without a finish reason", eventStream, hello, nil, model.ClassProtocol, []string{"ended before the model finished"}},
		{"a clean end with usage but no finish reason", eventStream, hello + counts, nil, model.ClassProtocol, []string{"ended before"}},
		{"nothing at all", eventStream, "", nil, model.ClassProtocol, []string{"with nothing in it"}},
		{"[DONE] alone", eventStream, done, nil, model.ClassProtocol, []string{"empty"}},
		{"a raw cut", eventStream, hello, io.ErrUnexpectedEOF, model.ClassUnavailable, []string{"interrupted", "unexpected EOF"}},
		{"a reset", eventStream, hello, cutOff, model.ClassUnavailable, []string{"connection reset"}},
		{"JSON cut off", eventStream, hello + event(`{"choices":[{"del`) + stop, nil, model.ClassProtocol, []string{"not a JSON object", `{"choices":[{"del`}},
		{"JSON that is no object", eventStream, event(`[1]`) + fine, nil, model.ClassProtocol, []string{"not a JSON object"}},
		{"choices that are no list", eventStream, event(`{"choices":{"delta":{"content":"x"}}}`) + fine, nil, model.ClassProtocol, []string{"choices"}},
		{"choices with something odd", eventStream, event(`{"choices":[3,{"delta":{"content":"x"}}]}`) + fine, nil, model.ClassProtocol, []string{"choices"}},
		{"content that can't be read", eventStream, event(`{"choices":[{"delta":{"content":{"a":1}}}]}`) + fine, nil, model.ClassProtocol, []string{"content"}},
		{"tool calls that are no list", eventStream, event(`{"choices":[{"delta":{"tool_calls":{"id":"a"}}}]}`) + fine, nil, model.ClassProtocol, []string{"tool calls"}},
		{"a call without a name", eventStream, toolDelta(`{"index":0,"id":"a","function":{"arguments":"{}"}}`) + ends, nil, model.ClassProtocol, []string{"without a name"}},
		{"tool_calls without calls", eventStream, hello + ends, nil, model.ClassProtocol, []string{"none came"}},
		{"finish reason error", eventStream, hello + strings.Replace(stop, "stop", "error", 1) + done, nil, model.ClassProtocol, []string{"ended the response with an error"}},
		{"a line beyond every bound", eventStream, "data: " + strings.Repeat("x", 33<<20), nil, model.ClassProtocol, []string{"too long"}},
		{"a response beyond every bound", eventStream, strings.Repeat(": "+strings.Repeat("x", 8<<10)+"\n", (64<<20>>13)+1), nil, model.ClassProtocol, []string{"more than 64 MiB"}},

		{"a page in place of a stream", "text/html; charset=utf-8", "<html>\n<b>Sign in</b>\x1b[31m</html>", nil, model.ClassProtocol, []string{"text/html", "<b>Sign in</b>"}},
		{"a word", "text/plain", "ok", nil, model.ClassProtocol, []string{"text/plain", "ok"}},
		{"no body", "application/json", "", nil, model.ClassProtocol, []string{"application/json"}},
		{"a JSON list", "application/json", "[]", nil, model.ClassProtocol, []string{"application/json", "[]"}},
		{"some JSON", "application/json", `{"status":"ok"}`, nil, model.ClassProtocol, []string{`{"status":"ok"}`}},
		{"JSON cut off in place of a stream", "application/json", `{"choices":[{"message":{"content":"he`, nil, model.ClassProtocol, []string{"not a JSON object"}},
		{"JSON with a raw cut", "application/json", `{"choices":[{"mess`, io.ErrUnexpectedEOF, model.ClassUnavailable, []string{"interrupted"}},
		{"a raw cut before anything is known", "text/plain", " \n", io.ErrUnexpectedEOF, model.ClassUnavailable, []string{"interrupted"}},
		{"a page labelled as a stream", eventStream, "<html>Sign in</html>", nil, model.ClassProtocol, []string{"<html>Sign in</html>"}},
		{"JSON labelled as a stream", eventStream, `{"choices":[]}`, nil, model.ClassProtocol, []string{`{"choices":[]}`}},

		{"an error of the server", eventStream, hello + event(`{"error":{"message":"The server had an error","type":"server_error"}}`), nil, model.ClassUnavailable, []string{"provider error in the response", "The server had an error"}},
		{"an error as a word", eventStream, hello + event(`{"error":"overloaded"}`), nil, model.ClassUnavailable, []string{"overloaded"}},
		{"an error event without the wrapper", eventStream, hello + "event: error\ndata: {\"message\":\"slow down\",\"type\":\"rate_limit_error\"}\n\n", nil, model.ClassRate, []string{"slow down"}},
		{"a status inside an error", eventStream, hello + event(`{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"upstream is busy"}},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`), nil, model.ClassRate, []string{"Provider returned error: upstream is busy"}},
		{"an error of a choice", eventStream, hello + event(`{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream died"}}]}`), nil, model.ClassUnavailable, []string{"upstream died"}},
		{"a context that is too long", eventStream, event(`{"error":{"code":"context_length_exceeded","message":"too much"}}`), nil, model.ClassContext, []string{"too much (context_length_exceeded)"}},
		{"a context that is too long, in words", eventStream, event(`{"error":{"code":400,"message":"This model's maximum context length is 8192 tokens"}}`), nil, model.ClassContext, nil},
		{"a quota", eventStream, event(`{"error":{"type":"insufficient_quota","message":"no money"}}`), nil, model.ClassQuota, nil},
		{"a refused request", eventStream, event(`{"error":{"type":"invalid_request_error","message":"bad"}}`), nil, model.ClassRequest, nil},
		{"a refused key", eventStream, event(`{"error":{"code":"invalid_api_key","message":"bad"}}`), nil, model.ClassAuth, nil},
		{"an error as JSON with status 200", "application/json", `{"error":{"message":"no such model","code":"model_not_found"}}`, nil, model.ClassUnknown, []string{"no such model"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, _, err := responseTo(t, test.kind, func() io.Reader {
				body := io.Reader(strings.NewReader(test.body))
				if test.ends != nil {
					body = io.MultiReader(body, iotest.ErrReader(test.ends))
				}
				return body
			})
			var failed *model.Error
			if !errors.As(err, &failed) {
				t.Fatalf("got %+v and error %v, want a classified error", resp, err)
			}
			if failed.Class != test.class || failed.Status != 0 || failed.RetryAfter >= 0 {
				t.Errorf("got %+v, want class %s, no status and no wish to wait", failed, test.class)
			}
			for _, s := range test.message {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("error %q has control characters", err)
			}
			if diff := cmp.Diff(model.Response{Lost: resp.Lost}, resp); diff != "" {
				t.Errorf("a failed request has a response:\n%s", diff)
			}
		})
	}
}

func TestResponsesThatDoNotStreamAreAccepted(t *testing.T) {
	body := `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "text/plain", ""} {
		for way, body := range chunkings(" \n" + body) {
			got, _, err := responseTo(t, kind, body)
			if diff := cmp.Diff(said("hello"), got); err != nil || diff != "" {
				t.Errorf("%q, %s: error %v (-want +got):\n%s", kind, way, err, diff)
			}
		}
	}
}

func TestStreamsWithOtherContentTypeAreAccepted(t *testing.T) {
	for _, kind := range []string{"application/json", "text/plain", "application/octet-stream", ""} {
		for _, body := range []string{fine, ": ping\n\n" + fine, "\nevent: x\n" + fine, "id: 1\n" + fine, "\uFEFF" + fine} {
			got, _, err := responseTo(t, kind, func() io.Reader { return strings.NewReader(body) })
			if diff := cmp.Diff(said("hello"), got); err != nil || diff != "" {
				t.Errorf("%q, %.20q: error %v (-want +got):\n%s", kind, body, err, diff)
			}
		}
	}
}

func TestUsageIsReadFromEachForm(t *testing.T) {
	usd := func(v float64) *money.USD {
		usd, _ := money.FromFloat(v)
		return &usd
	}
	tests := []struct {
		name  string
		usage string
		want  *money.Usage
		cost  *money.USD
	}{
		{"with all details", `{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":5},"completion_tokens_details":{"reasoning_tokens":20}}`, &money.Usage{Input: 100, Output: 50, Reasoning: 20, CacheRead: 60, CacheWrite: 5}, nil},
		{"with OpenRouter's cost", `{"prompt_tokens":100,"completion_tokens":50,"cost":0.0125,"is_byok":false}`, &money.Usage{Input: 100, Output: 50}, usd(0.0125)},
		{"a cost of nothing", `{"prompt_tokens":100,"completion_tokens":50,"cost":0}`, &money.Usage{Input: 100, Output: 50}, usd(0)},
		{"a fee for a key of the user's own", `{"prompt_tokens":100,"completion_tokens":50,"cost":0.001,"is_byok":true}`, &money.Usage{Input: 100, Output: 50}, nil},
		{"with a key of the user's own", `{"prompt_tokens":100,"completion_tokens":50,"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}}`, &money.Usage{Input: 100, Output: 50}, usd(0.021)},
		{"of another's key", `{"prompt_tokens":100,"completion_tokens":50,"cost":0.0125,"is_byok":false,"cost_details":{"upstream_inference_cost":0.02}}`, &money.Usage{Input: 100, Output: 50}, usd(0.0125)},
		{"costs that are none", `{"prompt_tokens":100,"completion_tokens":50,"cost":null}`, &money.Usage{Input: 100, Output: 50}, nil},
		{"costs in another form", `{"prompt_tokens":100,"completion_tokens":50,"cost":{"total":1}}`, &money.Usage{Input: 100, Output: 50}, nil},
		{"a negative cost", `{"prompt_tokens":100,"completion_tokens":50,"cost":-1}`, &money.Usage{Input: 100, Output: 50}, nil},
		{"DeepSeek's cache", `{"prompt_tokens":100,"completion_tokens":50,"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40}`, &money.Usage{Input: 100, Output: 50, CacheRead: 60}, nil},
		{"Anthropic's habit: input without the cache", `{"prompt_tokens":10,"completion_tokens":50,"cache_read_input_tokens":700,"cache_creation_input_tokens":30}`, &money.Usage{Input: 740, Output: 50, CacheRead: 700, CacheWrite: 30}, nil},
		{"the same, told by the total", `{"prompt_tokens":100,"completion_tokens":50,"total_tokens":210,"prompt_tokens_details":{"cached_tokens":60}}`, &money.Usage{Input: 160, Output: 50, CacheRead: 60}, nil},
		{"output without reasoning", `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, &money.Usage{Input: 32, Output: 103, Reasoning: 94}, nil},
		{"hidden reasoning", `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135}`, &money.Usage{Input: 32, Output: 103, Reasoning: 94}, nil},
		{"numbers as strings", `{"prompt_tokens":"100","completion_tokens":"50"}`, &money.Usage{Input: 100, Output: 50}, nil},
		{"null", `null`, nil, nil},
		{"empty", `{}`, nil, nil},
		{"negative", `{"prompt_tokens":-1,"completion_tokens":50}`, nil, nil},
		{"absurd", `{"prompt_tokens":1e30,"completion_tokens":50}`, nil, nil},
		{"an absurd total", `{"prompt_tokens":100,"completion_tokens":50,"total_tokens":-1e30}`, &money.Usage{Input: 100, Output: 50}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body := hello + stop + event(`{"choices":[],"usage":`+test.usage+`}`) + done
			got, _, err := responseTo(t, eventStream, func() io.Reader { return strings.NewReader(body) })
			want := said("hello", func(r *model.Response) { r.Usage, r.CostUSD = test.want, test.cost })
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// FuzzStream serves any body as any kind: there is a response that holds
// together or a classified error, and it is the same however the bytes arrive.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		fine, hello, ends, toolDelta(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}`) + ends,
		"\uFEFF" + strings.ReplaceAll(fine, "\n", "\r\n"), event(`{"error":null}`) + event(`{"error":{"code":429}}`), "<html>", `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, labelled bool) {
		kind := "text/plain"
		if labelled {
			kind = eventStream
		}
		resp, deltas, err := responseTo(t, kind, func() io.Reader { return bytes.NewReader(body) })
		again, _, errAgain := responseTo(t, kind, func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) })
		if diff := cmp.Diff(resp, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("byte by byte it is different: %v, %v (-whole +bytes):\n%s", err, errAgain, diff)
		}
		checkResponse(t, resp, err)
		if err == nil {
			checkDeltas(t, deltas, resp)
		}
	})
}
