package queue

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Cooldown is a pause of all requests with a provider's key, which one worker announces to the
// others.
type Cooldown struct {
	Worker string        `json:"worker"`
	Wait   time.Duration `json:"wait"` // since it was announced
}

// Cool announces a pause of requests with a provider's key. account identifies the key, and
// does not contain it.
func (q *Queue) Cool(ctx context.Context, account string, c Cooldown) error {
	text, err := json.Marshal(c)
	if err == nil {
		_, err = q.state.Put(ctx, "cool."+account, text)
	}
	return err
}

// longestCooldown limits a pause: nobody who writes to the server stops all workers.
const longestCooldown = time.Hour

// cooled passes on a pause that has not passed.
func (q *Queue) cooled(entry jetstream.KeyValueEntry, fn func(account string, wait Cooldown)) {
	var c Cooldown
	if json.Unmarshal(entry.Value(), &c) != nil {
		return
	}
	// Clocks of machines differ: a pause never gets longer, and one that was just announced is
	// never dropped.
	if age := q.now().Sub(entry.Created()); age > time.Minute {
		c.Wait -= age
	}
	if c.Wait = min(c.Wait, longestCooldown); c.Wait > 0 {
		fn(strings.TrimPrefix(entry.Key(), "cool."), c)
	}
}
