package models

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/tasks"
)

// Accounts are accounts of providers, each with the limiter and the gate of its requests. Sets that share
// them stay within the limits of an account together. It is safe for concurrent use.
//
// An account has an id, which other processes with the same key compute, too: the start of the
// SHA-256 hash of its base URL and its key, or of the command or file that the key comes from.
type Accounts struct {
	policy  model.LimitPolicy
	onPause func(account string, d time.Duration)
	client  *http.Client // of all models; nil for one of each

	mu       sync.Mutex
	limiters map[string]*model.Limiter
	gates    map[string]*model.Gate
}

// NewAccounts returns accounts for a process that runs many plans: a key that was rejected is
// sent again after a minute. Unless onPause is nil, it is called when a rejection pauses the
// requests of an account, to announce it to other processes, which call Pause of its limiter.
// It must not block. The models of all plans share connections, which use proxy, unless it is nil.
func NewAccounts(now func() time.Time, proxy func(*http.Request) (*url.URL, error), onPause func(account string, d time.Duration)) *Accounts {
	policy := model.DefaultLimitPolicy(now)
	policy.Rejected = time.Minute
	a := newAccounts(policy, onPause)
	a.client = provider.NewHTTPClient(proxy)
	return a
}

func newAccounts(policy model.LimitPolicy, onPause func(account string, d time.Duration)) *Accounts {
	return &Accounts{policy: policy, onPause: onPause, limiters: map[string]*model.Limiter{}, gates: map[string]*model.Gate{}}
}

// Limiter returns the limiter of an account, which may not have been used yet.
func (a *Accounts) Limiter(account string) *model.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.limiters[account]
	if l == nil {
		l = model.NewLimiter(a.policy)
		if a.onPause != nil {
			l.OnPause = func(d time.Duration) { a.onPause(account, d) }
		}
		a.limiters[account] = l
	}
	return l
}

// Gate returns the gate of an account, which is closed while its provider is down.
func (a *Accounts) Gate(account string) *model.Gate {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.gates[account]
	if g == nil {
		g = model.NewGate(a.policy.Now)
		a.gates[account] = g
	}
	return g
}

// accountID returns the id of an account.
func accountID(baseURL, key string) string {
	sum := sha256.Sum256([]byte(baseURL + "\x00" + key))
	return hex.EncodeToString(sum[:8])
}

// keySource identifies the account of a key that changes, without the directory of a command:
// each machine has another one.
func keySource(of tasks.KeySource) string {
	return strings.Join(append([]string{of.File}, of.Command...), "\x00")
}
