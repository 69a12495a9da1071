package session

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Need is the most that one model call can use up.
type Need struct {
	Input  int64 // tokens
	Output int   // tokens that the answer has at most; 0 if nobody knows
	// Words are tokens of input that the session's last words will need if it
	// has to stop after this call, with [WordsOutput] of output. They are to be
	// kept until the next call; 0 if there is nothing to say yet.
	Words int64
	Last  bool // these are the last words
}

// Grant is the leave to make a model call.
type Grant struct {
	Output int // tokens that are paid for; 0 for as many as were needed
	// Settle is told once what the call has cost: nil if nobody knows.
	Settle func(usd *money.USD)
	// Again is asked before a call that failed is made once more, and told what
	// its failed attempts have cost so far: nil if nobody knows. An End says that
	// too little is left for another one. It may be nil.
	Again func(usd *money.USD) *End
}

func (g Grant) again(usd *money.USD) *End {
	if g.Again == nil {
		return nil
	}
	return g.Again(usd)
}

// Purse pays for model calls. Its fields may be nil: then nothing is counted.
type Purse struct {
	// Reserve sets aside what a call may cost. It may wait for other calls, and
	// its End says why there is no leave. A Grant has to be settled.
	Reserve func(context.Context, Need) (Grant, *End)
	// Release gives back what is kept for last words.
	Release func()
}

func (p Purse) reserve(ctx context.Context, n Need) (Grant, *End) {
	if p.Reserve == nil {
		return Grant{Settle: func(*money.USD) {}}, nil
	}
	return p.Reserve(ctx, n)
}

func (p Purse) release() {
	if p.Release != nil {
		p.Release()
	}
}

// Sampling is how a model is asked to answer; zero values leave it to the
// provider.
type Sampling struct {
	Effort      string
	Temperature *float64
	MaxOutput   int // tokens
}

// estimate is how many tokens the next request has at most: as many as the
// provider counted when it was last asked, and those that were added since.
func (s *Session) estimate() int64 {
	return s.counted + tokensOf(s.messages[s.countedTo:])
}

// recount forgets what the provider counted, because the conversation before
// is no more the same.
func (s *Session) recount() {
	s.counted, s.countedTo = s.fixed, 0
}

// tokens is how many tokens a text of so many bytes has at most. Prose and code
// have about four bytes for each token, tables of numbers and scripts other
// than the Latin ones about three.
func tokens(bytes int) int64 { return int64(bytes)/3 + 1 }

const (
	frame     = 8       // tokens around a message or call
	imageCost = 5000    // tokens of an image at most, over the providers
	fileCost  = 300_000 // of another file: what a hundred pages have, which is the most that providers take
)

func tokensOf(messages []model.Message) (sum int64) {
	for _, m := range messages {
		sum += frame + tokens(len(m.Text)+len(m.Reasoning))
		for _, c := range m.Calls {
			sum += frame + tokens(len(c.ID)+len(c.Name)+len(c.Input))
		}
		for _, a := range m.Attachments {
			if strings.HasPrefix(a.MIME, "image/") {
				sum += imageCost
			} else {
				sum += min(tokens(len(a.Data)), fileCost)
			}
		}
	}
	return sum
}

func tokensOfTools(specs []model.ToolSpec) (sum int64) {
	for _, t := range specs {
		schema, _ := json.Marshal(t.Schema) // of tools that were checked when they were made
		sum += frame + tokens(len(t.Name)+len(t.Description)+len(schema))
	}
	return sum
}
