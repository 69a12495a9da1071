package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/schema"
)

const (
	mostCuts    = 3 // answers in a row that may reach the output limit
	mostEmpty   = 1 // empty answers that the model may make good
	mostMisfits = 2 // answers that miss the schema and may be made good
)

const (
	goOn        = "Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating anything."
	emptyAnswer = "Your answer was empty. Go on with the task; if it is done, say in a few words what you did."
	misfit      = "Your answer does not meet the schema that was asked for: %v. Answer again with the whole JSON document that meets it, and nothing else. The schema is: %s"
)

// answers is what became of the model's last words in one stretch.
type answers struct {
	said                 string // of an answer that is not whole yet
	cuts, empty, misfits int
}

// answered judges an answer without calls: nil if the model has to say more.
func (s *Session) answered(resp model.Response) *End {
	a := &s.answer
	if resp.Finish == model.FinishLength {
		a.said += resp.Text
		if a.cuts++; a.cuts > mostCuts {
			return &End{Kind: GaveUp, Reason: fmt.Sprintf("the model's answer was cut off at its output limit %d times", a.cuts), Text: a.said}
		}
		s.say(goOn)
		return nil
	}
	text := a.said + resp.Text
	a.said, a.cuts = "", 0
	if strings.TrimSpace(text) == "" {
		if a.empty++; a.empty > mostEmpty {
			return &End{Kind: GaveUp, Reason: "the model's answer was empty, twice"}
		}
		s.say(emptyAnswer)
		return nil
	}
	if s.cfg.Schema != nil {
		return s.documented(text)
	}
	return &End{Kind: Done, Text: text}
}

// documented judges an answer that is to meet the schema.
func (s *Session) documented(text string) *End {
	compiled, err := schema.Compile(s.cfg.Schema)
	if err != nil {
		return &End{Kind: GaveUp, Reason: "the output's schema can't be used: " + err.Error(), Text: text}
	}
	output, err := document(compiled, text)
	if err == nil {
		return &End{Kind: Done, Text: text, Output: output}
	}
	if s.answer.misfits++; s.answer.misfits > mostMisfits {
		return &End{Kind: GaveUp, Reason: fmt.Sprintf("the model's answer does not meet the output's schema: %v", err), Text: text}
	}
	wanted, _ := json.Marshal(s.cfg.Schema) // it was compiled
	s.say(fmt.Sprintf(misfit, err, wanted))
	return nil
}
