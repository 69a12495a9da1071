package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/textcut"
)

// conversation is the messages of a session with their length in tokens. Each change is journaled.
type conversation struct {
	journal  *journal.Writer
	messages []model.Message
	ids      counter

	fixed     int64 // tokens of what each request starts with
	counted   int64 // tokens of the first countedTo messages and of what is fixed
	countedTo int
}

// add adds a message.
func (c *conversation) add(m journal.Message) {
	m.ID = c.ids.next()
	m.Message.ID = m.ID
	c.messages = append(c.messages, m.Message)
	c.journal.Message(m)
}

// estimate is the most tokens that the next request has: those that the provider
// counted in the last one, and an estimate of those that were added since.
func (c *conversation) estimate() int64 {
	return c.counted + tokensOf(c.messages[c.countedTo:])
}

// recount drops the provider's count, because the conversation or what is fixed was changed.
func (c *conversation) recount() { c.counted, c.countedTo = c.fixed, 0 }

// startWith sets what each request starts with, and drops the provider's count.
func (c *conversation) startWith(h head) {
	c.fixed = tokens(len(h.system)) + tokensOfTools(h.specs)
	c.recount()
}

// worked reports whether there is anything to sum up: a response of the model.
func (c *conversation) worked() bool {
	return slices.ContainsFunc(c.messages, func(m model.Message) bool { return m.Role == model.Assistant })
}

// finalUsage is the most tokens that a final summary uses.
func (c *conversation) finalUsage() money.Usage {
	return money.Usage{Input: min(tokens(finalShown), tokensOf(c.messages)) + 300, Output: finalOutput}
}

// lastResponse is the index of the model's last message, -1 for none. The model has
// not seen the messages after it.
func (c *conversation) lastResponse() int {
	for i, m := range slices.Backward(c.messages) {
		if m.Role == model.Assistant {
			return i
		}
	}
	return -1
}

// tail is the index of the first message that is not summarized: complete turns of
// about most tokens, and always the last one, with its calls and their results.
func (c *conversation) tail(most int64) int {
	at := max(c.lastResponse(), 0)
	size := tokensOf(c.messages[at:])
	for i := at - 1; i > 0; i-- {
		if size += tokensOf(c.messages[i : i+1]); size > most {
			break
		}
		if c.messages[i].Role != model.ToolRole {
			at = i
		}
	}
	return at
}

// replace replaces the messages from first to cut by one with a text, which turn added.
func (c *conversation) replace(first, cut int, text string, turn int) {
	said := model.Message{ID: c.ids.next(), Role: model.User, Text: text}
	c.journal.Compaction(journal.Compaction{
		From: c.messages[first].ID, To: c.messages[cut-1].ID, By: journal.Message{ID: said.ID, Turn: turn, Message: said},
	})
	c.messages = slices.Concat(c.messages[:first], []model.Message{said}, c.messages[cut:])
	c.recount()
}

// rewrite replaces messages by those that change makes of a copy of them.
func (c *conversation) rewrite(change func(messages []model.Message)) {
	earlier := c.messages
	c.messages = slices.Clone(earlier)
	change(c.messages)
	rewrote(c.journal, earlier, c.messages)
}

// withoutAttachment is appended to a message whose attachments were removed.
const withoutAttachment = "\n[The provider refused the request with the attachment %s, so it was removed. Rely on its name and the surrounding text.]"

// removeAttachments removes attachments, because they can be why the
// provider refused a request: a model without vision, dimensions or formats that it does not
// support, or too many of them. First those that the model has not seen yet, then all. It
// returns their names; nil if there were none.
func (c *conversation) removeAttachments() (names []string) {
	for _, from := range []int{c.lastResponse() + 1, 0} {
		if !slices.ContainsFunc(c.messages[from:], func(m model.Message) bool { return len(m.Attachments) > 0 }) {
			continue
		}
		c.rewrite(func(messages []model.Message) {
			for i := range messages[from:] {
				m := &messages[from+i]
				for _, a := range m.Attachments {
					names = append(names, textcut.OneLine(a.Name))
					m.Text += fmt.Sprintf(withoutAttachment, textcut.OneLine(a.Name))
				}
				m.Attachments = nil
			}
		})
		c.recount()
		return names
	}
	return nil
}

// pruned replaces a result that was removed.
const pruned = "[Output removed to save space. Repeat the call if you need it.]"

// lasting are the tools whose results are never removed: they are expensive, or
// contain instructions.
var lasting = []string{"skill", "task"}

// prune removes the results of old calls, if that frees enough; otherwise it returns nil. The calls stay, each
// with a replaced result.
func (c *conversation) prune(room int64) *event.Prune {
	var old []int
	var seen, there, counted, freed int64
	unseen := c.lastResponse()
	for i, m := range slices.Backward(c.messages) {
		switch {
		case m.Role != model.ToolRole:
		case i > unseen || seen < min(keptRecent, room/3):
			seen += tokensOf(c.messages[i : i+1])
		case prunable(m):
			old = append(old, i)
			size := tokensOf(c.messages[i : i+1])
			there += size
			if i < c.countedTo { // a lower bound, where tokens is an upper one
				counted += max(int64(len(m.Text)-len(pruned))/4, 0)
			} else {
				freed += size - frame - tokens(len(pruned))
			}
		}
	}
	before := c.estimate()
	if there < min(minPruned, room/6) || before-counted-freed > room*2/3 {
		return nil
	}
	c.rewrite(func(messages []model.Message) {
		for _, i := range old {
			messages[i].Text, messages[i].Attachments = pruned, nil
		}
	})
	c.counted -= counted
	return &event.Prune{Results: len(old), Before: before, After: c.estimate()}
}

// prunable reports whether a result would be shorter without its text.
func prunable(m model.Message) bool {
	return (len(m.Text) > len(pruned) || len(m.Attachments) > 0) && !slices.Contains(lasting, permission.Alias(strings.ToLower(m.Tool)))
}

// shortenedNote is appended to a result that was shortened.
const shortenedNote = "\n[Output truncated in the middle, and attachments removed: the results of this turn were too long together. Make fewer calls per turn, or request less output.]"

// shortenResults shortens the results that the model has not seen yet, if they alone use
// more than half of the room: together they could exceed any window. It returns nil if none was shortened.
func (c *conversation) shortenResults(room int64) *event.Prune {
	at := c.lastResponse() + 1
	fresh := len(c.messages) - at
	if tokensOf(c.messages[at:]) <= room/2 {
		return nil
	}
	each := max(int(room)*3/2/fresh-len(shortenedNote), len(pruned))
	long := func(m model.Message) bool {
		return m.Role == model.ToolRole && tokensOf([]model.Message{m}) > tokens(each)+frame
	}
	if !slices.ContainsFunc(c.messages[at:], long) {
		return nil
	}
	done := &event.Prune{Before: c.estimate()}
	c.rewrite(func(messages []model.Message) {
		for i := range messages[at:] {
			if m := &messages[at+i]; long(*m) {
				done.Results++
				m.Text, m.Attachments = shorten(m.Text, each)+shortenedNote, nil
			}
		}
	})
	done.After = c.estimate()
	return done
}
