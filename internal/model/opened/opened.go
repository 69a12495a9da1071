// Package opened has what a session gets of a model that was opened for it, and the functions that the model calls when it waits or retries. It opens none, and
// knows neither jobs nor plans.
package opened

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Conversation is a model for one session. Finish is called after the session, and
// returns an error if it did not go as expected, for example for a script with unused
// turns.
type Conversation struct {
	Model  model.Model
	Finish func() error
	Quotes money.Quotes // what a request may cost; nil if that is unknown
	// As is the model id that determines tools and facts: for a recording, that of
	// the recorded model.
	As string
}

// Notices are what the model of a session calls.
type Notices struct {
	// Retry is called for each retried request, for each wait for a provider that is down, and for
	// each change of the model; the turn is not its concern.
	Retry func(event.Retry)
	// Pause stops the job's time limit until resume is called, because its provider is down.
	Pause func() (resume func())
}

// Facts are properties of a model other than its price.
type Facts struct {
	Images, PDFs bool // supported attachments
	Context      int  // context window: maximum tokens of a request and its response; 0 if unknown
	MaxOutput    int  // maximum tokens of a response; 0 if unknown

	// Like is the model whose instructions and tools it gets; "" for those of its own name.
	Like string
}
