package wiretest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/model"
)

// Case is a fault with a name, and what a client must make of it.
type Case struct {
	Name       string
	Fault      Fault
	Wire       Wire             // the wire that it is for; "" is every one
	Class      model.ErrorClass // of the failure; "" if the response arrives as it was meant
	Uncounted  bool             // the response arrives, but without its usage
	Renamed    bool             // the response arrives, but with other ids of its calls
	RetryAfter time.Duration    // what a failure asks for, if not 0
	Hangs      bool             // nothing but a deadline ends the request
	Body       bool             // not for pieces: it is too long, or not streamed
}

// CaseOf returns the case of that name.
func CaseOf(name string) (Case, bool) {
	all := append(Cases(), Refusals()...)
	i := slices.IndexFunc(all, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return Case{}, false
	}
	return all[i], true
}

// Refusals returns the responses by which a model refuses, on each
// wire and in each form. They are no faults: a client reads them as responses with
// the finish [model.FinishFilter] and the text "I will not.".
func Refusals() []Case {
	refusal := func(w Wire, name string, events ...string) Case {
		body := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
		return Case{Name: string(w) + "-" + name, Wire: w, Fault: Fault{Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}, Body: body}}
	}
	const (
		chatUsage     = `"usage":{"prompt_tokens":10,"completion_tokens":4}`
		responseEnd   = `{"type":"response.completed","response":{"id":"r","status":"completed","output":[%s],"usage":{"input_tokens":10,"output_tokens":4}}}`
		responseItem  = `{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I will not."}]}`
		responseDelta = `{"type":"response.refusal.delta","output_index":0,"delta":"%s"}`
	)
	return []Case{
		refusal(Chat, "refusal",
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":"I will "}}]}`,
			`{"choices":[{"index":0,"delta":{"refusal":"not."}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+chatUsage+`}`, "[DONE]"),
		refusal(Chat, "refusal-whole",
			`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I will not."},"finish_reason":"stop"}],`+chatUsage+`}`, "[DONE]"),
		refusal(Chat, "filter",
			`{"choices":[{"index":0,"delta":{"content":"I will not."},"finish_reason":"content_filter"}],`+chatUsage+`}`, "[DONE]"),
		refusal(Responses, "refusal",
			fmt.Sprintf(responseDelta, "I will "), fmt.Sprintf(responseDelta, "not."),
			`{"type":"response.output_item.done","output_index":0,"item":`+responseItem+`}`, fmt.Sprintf(responseEnd, responseItem)),
		refusal(Responses, "refusal-item", `{"type":"response.output_item.done","output_index":0,"item":`+responseItem+`}`, fmt.Sprintf(responseEnd, responseItem)),
		refusal(Responses, "refusal-whole", fmt.Sprintf(responseEnd, responseItem)),
		refusal(Messages, "refusal",
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I will not."}}`,
			`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":4}}`, `{"type":"message_stop"}`),
	}
}

// Cases returns every named fault. Those of streams suppose a response with some
// text and at least one call.
func Cases() []Case {
	return slices.Concat(statuses(), disguises(), breaks(), framings(), oddities(Chat, chatOddities()), oddities(Messages, messagesOddities()), oddities(Responses, responsesOddities()))
}

// statuses are refusals.
func statuses() []Case {
	refusal := func(name string, class model.ErrorClass, status int, body string) Case {
		return Case{Name: name, Class: class, Body: true, Fault: Fault{Status: status, Body: body}}
	}
	busy := func(name string, wait time.Duration, header, value string) Case {
		c := refusal(name, model.ClassRate, 429, `{"error":{"message":"slow down","type":"rate_limit_error"}}`)
		c.Fault.Header, c.RetryAfter = map[string]string{header: value}, wait
		return c
	}
	moved := refusal("redirect", model.ClassRequest, 307, "")
	moved.Fault.Header = map[string]string{"Location": "/elsewhere"}
	return []Case{
		refusal("bad-request", model.ClassRequest, 400, `{"error":{"message":"Invalid value","type":"invalid_request_error"}}`),
		refusal("bad-key", model.ClassAuth, 401, `{"error":{"message":"invalid key","type":"authentication_error"}}`),
		refusal("no-credit", model.ClassQuota, 402, `{"error":{"message":"Insufficient credits"}}`),
		refusal("forbidden", model.ClassAuth, 403, `{"error":{"message":"no access","type":"permission_error"}}`),
		refusal("no-model", model.ClassUnknown, 404, `{"error":{"message":"no such model","type":"not_found_error"}}`),
		refusal("server-timeout", model.ClassUnavailable, 408, ""),
		refusal("conflict", model.ClassUnavailable, 409, ""),
		refusal("too-large", model.ClassContext, 413, `{"error":{"message":"too large","type":"request_too_large"}}`),
		refusal("unprocessable", model.ClassRequest, 422, `{"detail":"field required"}`),
		refusal("too-long", model.ClassContext, 400, `{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum","type":"invalid_request_error"}}`),
		refusal("quota", model.ClassQuota, 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`),
		busy("busy", 7*time.Second, "Retry-After", "7"),
		busy("busy-second", time.Second, "Retry-After", "1"),
		busy("busy-ms", 250*time.Millisecond, "Retry-After-Ms", "250"),
		busy("busy-absurd", 24*time.Hour, "Retry-After", "86400"),
		busy("busy-negative", -1, "Retry-After", "-5"),
		busy("busy-date", -1, "Retry-After", "Sun, 01 Mar 2020 12:00:30 GMT"), // long ago
		refusal("internal", model.ClassUnavailable, 500, `{"error":{"message":"internal error","type":"api_error"}}`),
		refusal("bad-gateway", model.ClassUnavailable, 502, "<html><h1>502 Bad Gateway</h1></html>"),
		refusal("down", model.ClassUnavailable, 503, ""),
		refusal("gateway-timeout", model.ClassUnavailable, 504, ""),
		refusal("overloaded", model.ClassUnavailable, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		moved,
	}
}

// disguises are successes that are none.
func disguises() []Case {
	success := func(name, kind, body string) Case {
		return Case{Name: name, Class: model.ClassProtocol, Body: true, Fault: Fault{Status: 200, Header: map[string]string{"Content-Type": kind}, Body: body}}
	}
	return []Case{
		success("page", "text/html", "<html><b>Sign in</b></html>"),
		success("page-as-stream", "text/event-stream", "<html><b>Sign in</b></html>"),
		success("empty", "text/event-stream", ""),
		success("empty-json", "application/json", ""),
		success("other-json", "application/json", `{"status":{}}`),
		success("json-list", "application/json", "[]"),
		success("json-cut", "application/json", `{"id":"x","choi`),
		{Name: "endless", Class: model.ClassProtocol, Body: true, Fault: Fault{Rewrite: func([]byte) []byte {
			return bytes.Repeat([]byte(": "+strings.Repeat("x", 64<<10)+"\n"), 1100) // 69 MiB
		}}},
	}
}

// breaks are streams that end, or don't, where they should not.
func breaks() []Case {
	half := func(b []byte) []byte { return b[:bytes.LastIndex(b[:len(b)/2], []byte("\n\n"))+2] }
	return []Case{
		{Name: "black-hole", Class: model.ClassUnavailable, Hangs: true, Body: true, Fault: Fault{Silent: true}},
		{Name: "torn", Class: model.ClassUnavailable, Body: true, Fault: Fault{Torn: true}},
		{Name: "stall", Class: model.ClassUnavailable, Hangs: true, Fault: Fault{Stall: 200}},
		{Name: "stall-at-once", Class: model.ClassUnavailable, Hangs: true, Fault: Fault{Stall: 1}},
		{Name: "cut-at-once", Class: model.ClassUnavailable, Fault: Fault{Cut: 10}},
		{Name: "cut", Class: model.ClassUnavailable, Fault: Fault{Cut: 400}},
		{Name: "cut-late", Class: model.ClassUnavailable, Fault: Fault{Behind: true}},
		{Name: "early-end", Class: model.ClassProtocol, Fault: Fault{Rewrite: half}},
		{Name: "open-end", Fault: Fault{Hold: true}},
		{Name: "slow", Fault: Fault{Drip: 200 * time.Microsecond, Chunk: 64}, Body: true},
		insertion("error-event", model.ClassUnavailable, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"),
		insertion("busy-event", model.ClassRate, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}\n\n"),
		insertion("bare-error-event", model.ClassUnavailable, "event: error\ndata: {\"message\":\"The server had an error\",\"code\":\"server_error\"}\n\n"),
		insertion("bare-typed-error-event", model.ClassRate, "event: error\ndata: {\"type\":\"rate_limit_error\",\"message\":\"slow down\"}\n\n"),
		insertion("page-in-stream", model.ClassProtocol, "data: <html>\n\n"),
		insertion("number-in-stream", model.ClassProtocol, "data: [1]\n\n"),
		insertion("nul", model.ClassProtocol, "data: \x00\x00\n\n"),
		held(insertion("error-event-held", model.ClassUnavailable, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}\n\n")),
		insertion("deep", model.ClassProtocol, "data: {\"x\":"+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}\n\n"),
		insertion("event-cut", model.ClassProtocol, "data: {\"type\":\"content_block_delta\",\"choices\":[{\"del\n\n"),
	}
}

// insertion puts text into the middle of a stream, between two events.
func insertion(name string, class model.ErrorClass, text string) Case {
	return Case{Name: name, Class: class, Fault: Fault{Rewrite: func(b []byte) []byte {
		at := bytes.LastIndex(b[:len(b)/2], []byte("\n\n")) + 2
		return slices.Concat(b[:at], []byte(text), b[at:])
	}}}
}

// held keeps the connection open behind the stream: what ends a response, or fails
// it, must end the reading.
func held(c Case) Case {
	c.Fault.Hold = true
	return c
}

// framings are other spellings of the same stream, which mean the same.
func framings() []Case {
	spelling := func(name string, rewrite func(string) string) Case {
		return Case{Name: name, Fault: Fault{Rewrite: func(b []byte) []byte { return []byte(rewrite(string(b))) }}}
	}
	replacing := func(name, old, new string) Case {
		return spelling(name, func(s string) string { return strings.ReplaceAll(s, old, new) })
	}
	labelled := replacing("plain-label", "", "")
	labelled.Fault = Fault{Header: map[string]string{"Content-Type": "text/plain"}}
	long := Case{Name: "long-comment", Body: true, Fault: Fault{Rewrite: func(b []byte) []byte {
		return slices.Concat([]byte(": "), bytes.Repeat([]byte("x"), 10<<20), []byte("\n\n"), b)
	}}}
	longLine := Case{Name: "long-line", Body: true, Fault: Fault{Rewrite: func(b []byte) []byte {
		text := "event: vendor.news\ndata: {\"type\":\"vendor.news\",\"news\":\"" + strings.Repeat("x", 3<<20) + "\"}\n\n"
		return insertion("", "", text).Fault.Rewrite(b)
	}}}
	return []Case{
		replacing("crlf", "\n", "\r\n"),
		replacing("no-space", "data: ", "data:"),
		replacing("keep-alive", "\n\n", "\n\n: keep-alive\n\n"),
		replacing("fields", "data: ", "id: 7\nretry: 100\ndata: "),
		replacing("empty-events", "\n\n", "\n\ndata:\n\n\n\n"),
		replacing("data-in-lines", "data: {", "data: {\ndata: "),
		spelling("byte-order-mark", func(s string) string { return "\uFEFF" + s }),
		spelling("last-line-unended", func(s string) string { return strings.TrimRight(s, "\n") }),
		spelling("junk-behind", func(s string) string { return s + "data: {\"junk\n\n" }),
		insertion("invalid-utf8-comment", "", ": \xff\xfe\n\n"),
		insertion("invalid-utf8-data", "", "event: vendor.news\ndata: {\"type\":\"vendor.news\",\"news\":\"\xff\xfe\"}\n\n"),
		insertion("unknown-event", "", "event: vendor.news\ndata: {\"type\":\"vendor.news\",\"news\":[1]}\n\n"),
		labelled,
		long,
		longLine,
	}
}

// oddities makes cases of one wire out of rewritings of its events.
func oddities(w Wire, list []Case) []Case {
	for i := range list {
		list[i].Name = fmt.Sprintf("%s-%s", w, list[i].Name)
		list[i].Wire = w
	}
	return list
}
