package model

import (
	"context"
	"net/http/httptrace"
	"sync"
)

// Announced returns m, which calls sent as soon as a request has been sent to a server, and at the
// latest when there is a response with calls. sent is called concurrently with the request, and not after its end.
//
// Work that is started with a request competes with its encoding and its connection on a machine
// with few cores; work that sent starts does not delay the request.
func Announced(m Model, sent func()) Model { return announced{m, sent} }

type announced struct {
	next Model
	sent func()
}

func (a announced) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	var mu sync.Mutex
	ended := false // a server can respond before all of a request is written
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			a.sent()
		}
	}})
	resp, err := a.next.Stream(ctx, req, emit)
	mu.Lock()
	defer mu.Unlock()
	if ended = true; len(resp.Calls) > 0 {
		a.sent()
	}
	return resp, err
}
