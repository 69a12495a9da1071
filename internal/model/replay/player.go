package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/model"
)

// Player answers as a job's model did. It is safe for concurrent use.
type Player struct {
	recording *Recording
	job       string
}

// Player returns a player of what was recorded under a name. Players of the same
// name, as of several children that are the same agent, share what is there.
func (r *Recording) Player(job string) *Player {
	return &Player{r, job}
}

// Stream implements [model.Model] with the first exchange of the job that was not
// played yet and has the same request. A recorded failure is returned unchanged, but
// without a Retry-After. emit is called once for the text, the reasoning and each
// call. A request that is not in the recording fails with [model.ClassScript] and the
// difference.
func (p *Player) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (resp model.Response, err error) {
	defer func() { req.Charge(resp, err) }()
	if ctx.Err() != nil {
		return model.Response{}, context.Cause(ctx)
	}
	asked := p.recording.canon.Request(req)
	e := p.recording.take(p.job, asked.Hash)
	if e == nil {
		asked.Prompt = p.recording.canon.Prompt(req)
		return model.Response{}, model.Fail(model.ClassScript, errors.New(p.recording.miss(p.job, asked)))
	}
	if e.Error != nil {
		return model.Response{Lost: e.Lost}, p.failure(e)
	}
	resp = p.recording.canon.Response(*e.Response)
	resp.Lost = e.Lost
	if emit != nil {
		emitDeltas(resp, emit)
	}
	return resp, nil
}

// Model is the id of the model that the job was recorded with, as provider/model;
// "" if the recording does not say, or has nothing of the job.
func (p *Player) Model() string {
	for _, e := range p.recording.jobs[p.job] {
		if e.Model != "" {
			return e.Model
		}
	}
	return ""
}

// take returns the next exchange for a request and marks it as played, or nil.
func (r *Recording) take(job, hash string) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.jobs[job] {
		if !e.played && e.Request.Hash == hash {
			e.played = true
			return e
		}
	}
	return nil
}

func (p *Player) failure(e *exchange) error {
	if e.Error.Class == "" {
		return model.Fail(model.ClassScript, fmt.Errorf("%s:%d: the recorded run cancelled this request: %s", p.recording.name, e.line, e.Error.Message))
	}
	return &model.Error{Class: e.Error.Class, Status: e.Error.Status, RetryAfter: -1, Err: errors.New(e.Error.Message)}
}

func emitDeltas(resp model.Response, emit func(model.Delta)) {
	if resp.Reasoning != "" {
		emit(model.Delta{Kind: model.ReasoningDelta, Text: resp.Reasoning})
	}
	if resp.Text != "" {
		emit(model.Delta{Kind: model.TextDelta, Text: resp.Text})
	}
	for _, c := range resp.Calls {
		emit(model.Delta{Kind: model.CallDelta, Call: c.ID, Text: c.Name})
		emit(model.Delta{Kind: model.InputDelta, Call: c.ID, Text: c.Input})
	}
}

// Finish returns an error of [model.ClassScript] that names the first exchange
// of the job that was not played, if there is one.
func (p *Player) Finish() error {
	left := p.recording.left(p.job)
	if len(left) == 0 {
		return nil
	}
	return model.Fail(model.ClassScript, fmt.Errorf("%s:%d: this exchange of %s was not used (unused in all: %d)", p.recording.name, left[0].line, p.job, len(left)))
}

// left are a job's exchanges that are not played yet.
func (r *Recording) left(job string) []*exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []*exchange
	for _, e := range r.jobs[job] {
		if !e.played {
			left = append(left, e)
		}
	}
	return left
}
