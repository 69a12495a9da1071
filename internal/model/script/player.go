package script

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/proc/clock"
)

// Player plays the turns of one conversation from their start. Unlike other
// models it is not for concurrent use.
type Player struct {
	name  string
	turns []Turn
	next  int
}

// Player returns a player of the main turns for agent "", else of those under
// the agent's name, which must exist.
func (s *Script) Player(agent string) (*Player, error) {
	turns, err := s.Turns(agent)
	if err != nil {
		return nil, err
	}
	return &Player{name: s.name, turns: turns}, nil
}

// Stream implements [model.Model] with the next turn.
func (p *Player) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if ctx.Err() != nil {
		return model.Response{}, context.Cause(ctx)
	}
	if p.next == len(p.turns) {
		return model.Response{}, p.unexpected(req)
	}
	turn := &p.turns[p.next]
	p.next++
	if err := turn.Check(req.Messages); err != nil {
		return model.Response{}, err
	}
	if err := clock.Wait(ctx, turn.Delay); turn.Delay > 0 && err != nil {
		return model.Response{}, err
	}
	if turn.Error != nil {
		return model.Response{}, turn.Error
	}
	if emit != nil {
		turn.emit(emit)
	}
	return turn.Response(), nil
}

func (p *Player) unexpected(req model.Request) error {
	return model.Fail(model.ClassScript, fmt.Errorf("unexpected request %d: %s has no more turns; what came since the last turn: %s",
		p.next+1, p.name, excerpt(news(req.Messages))))
}

// Finish returns an error that names the first turn that was not played, if
// there is one.
func (p *Player) Finish() error {
	unused := len(p.turns) - p.next
	if unused == 0 {
		return nil
	}
	turn := p.turns[p.next]
	return model.Fail(model.ClassScript, fmt.Errorf("%s: turn %d was not used (unused in all: %d)", turn.Source, turn.Number, unused))
}

// emit sends the turn in chunks, as a model would stream it.
func (t *Turn) emit(emit func(model.Delta)) {
	for _, s := range chunks(t.Reasoning) {
		emit(model.Delta{Kind: model.ReasoningDelta, Text: s})
	}
	for _, s := range chunks(t.Text) {
		emit(model.Delta{Kind: model.TextDelta, Text: s})
	}
	for _, c := range t.Calls {
		emit(model.Delta{Kind: model.CallDelta, Call: c.ID, Text: c.Name})
		for _, s := range chunks(c.Input) {
			emit(model.Delta{Kind: model.InputDelta, Call: c.ID, Text: s})
		}
	}
}

// chunks cuts s into a few, at the borders of runes.
func chunks(s string) []string {
	const most = 3
	var cut []string
	for size := len(s)/most + 1; s != ""; {
		n := min(size, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		cut = append(cut, s[:n])
		s = s[n:]
	}
	return cut
}
