package journal

import (
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// kind is the type of a line.
type kind string

const (
	sessionLine    kind = "session"
	messageLine    kind = "message"
	compactionLine kind = "compaction"
	turnLine       kind = "turn"
	resumeLine     kind = "resume"
	sentLine       kind = "sent" // for people: nothing reads it
)

// Session describes a conversation.
type Session struct {
	ID     string    `json:"id"`               // as in events and reports
	Job    string    `json:"job"`              // id of its job
	Agent  string    `json:"agent,omitempty"`  //
	Parent string    `json:"parent,omitempty"` // id of the session that started this one
	Model  string    `json:"model"`            // as the manifest names it
	System string    `json:"system"`           // system prompt
	Tools  []string  `json:"tools,omitempty"`  // names of the tools that the model was offered
	Time   time.Time `json:"time"`
}

// Message is a message with what is known about it.
type Message struct {
	ID   string    `json:"id"` // unique in its file
	Time time.Time `json:"time"`
	Turn int       `json:"turn,omitempty"` // that it belongs to; 0 for prompts
	model.Message

	// Response is the end of the turn that the message is the response of; nil for other
	// messages.
	Response *event.Turn `json:"response,omitempty"`
	// Call is the state of the call that a result is of, without its input.
	Call *event.Call `json:"call,omitempty"`
}

// Compaction replaces the messages from one id to another, which are included, by a
// message.
type Compaction struct {
	From string    `json:"from"`
	To   string    `json:"to"`
	By   Message   `json:"by"`
	Time time.Time `json:"time"`
}

// Turn is a complete turn.
type Turn struct {
	Number int       `json:"number"`
	After  string    `json:"after"`          // id of the last message
	Tree   string    `json:"tree,omitempty"` // of the workspace's repository; "" if it was not saved
	Time   time.Time `json:"time"`
}

// Resume continues the conversation in another process.
type Resume struct {
	After string    `json:"after"` // id of the last message that remains
	Time  time.Time `json:"time"`
}

// Sent is how the messages of a request differ from the conversation, because a plugin changed them:
// what is new since the last one in the file.
type Sent struct {
	Turn     int           `json:"turn"`               // of the request
	Changed  []SentMessage `json:"changed,omitempty"`  // as they were sent
	Removed  []string      `json:"removed,omitempty"`  // ids of those that were not sent
	Restored []string      `json:"restored,omitempty"` // ids of those that were sent as they are, unlike before
	Time     time.Time     `json:"time"`
}

// SentMessage is a message as it was sent, without attachments.
type SentMessage struct {
	ID    string `json:"id,omitempty"`    // "" for one that a plugin added
	After string `json:"after,omitempty"` // id of the message before one that was added
	model.Message
}

// line is a line of a file: its type and one of the others.
type line struct {
	Type kind `json:"type"`
}
