package models

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
	"github.com/millhand/millhand/tasks"
)

func TestSetsShareAccounts(t *testing.T) {
	type pause struct {
		Account string
		For     time.Duration
	}
	var announced []pause
	at := time.Now()
	accounts := NewAccounts(func() time.Time { return at }, nil, func(account string, d time.Duration) {
		announced = append(announced, pause{account, d.Round(time.Second)})
	})
	limiter := func(key string, accounts *Accounts) *model.Limiter {
		plan := &tasks.Plan{Jobs: []tasks.Job{job("a", "openai/gpt-4.1", 0)}}
		s := newSet(plan, map[string]string{"OPENAI_API_KEY": key})
		if accounts != nil {
			s.Accounts = accounts
		}
		if _, err := s.Open(plan.Jobs[0], "", opened.Notices{}); err != nil {
			t.Fatal(err)
		}
		l, _ := s.limits("openai/gpt-4.1")
		return l
	}
	one := limiter("sk-1", accounts)
	if one != limiter("sk-1", accounts) || one == limiter("sk-2", accounts) || one == limiter("sk-1", nil) {
		t.Error("a limiter is that of another account, or of no other Set")
	}
	id := accountID("https://api.openai.com/v1", "sk-1")
	if one != accounts.Limiter(id) || !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(id) {
		t.Errorf("account %q is another one", id)
	}
	for _, limit := range []time.Duration{time.Minute, time.Millisecond} { // the second waits for the first, and is no news
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, _ = model.Limited(failing{&model.Error{Class: model.ClassRate, RetryAfter: time.Minute}}, one, nil).Stream(ctx, model.Request{}, nil)
		cancel()
	}
	if diff := cmp.Diff([]pause{{id, time.Minute}}, announced); diff != "" {
		t.Error(diff)
	}
}

// A worker of a queue has a Set for each job.
func TestSetsShareConnections(t *testing.T) {
	for _, shared := range []bool{true, false} {
		provider := wiretest.New(nil)
		provider.Play = func(wiretest.Request) *script.Turn { return &script.Turn{Text: "Done.", Finish: model.FinishStop} }
		server := httptest.NewUnstartedServer(provider)
		var wires atomic.Int64
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				wires.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		plan := &tasks.Plan{Jobs: []tasks.Job{job("a", "here/m", 0)}, Providers: map[string]tasks.Provider{"here": {Kind: "responses", BaseURL: server.URL + "/v1"}}}
		at := time.Now()
		accounts := NewAccounts(func() time.Time { return at }, nil, nil)
		for range 3 {
			s := newSet(plan, nil)
			if shared {
				s.Accounts = accounts
			}
			c, err := s.Open(plan.Jobs[0], "", opened.Notices{})
			if err == nil {
				_, err = c.Model.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "Work."}}}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := wires.Load(); (n == 1) != shared {
			t.Errorf("%d connections for 3 requests; shared: %t", n, shared)
		}
	}
}

// Other machines have the same account if the text of its command or file is the same.
func TestAccountOfAKeySource(t *testing.T) {
	command := tasks.KeySource{Command: []string{"pass", "show", "key"}, Dir: "/a", TTL: time.Minute}
	elsewhere := command
	elsewhere.Dir = "/b"
	if keySource(command) != keySource(elsewhere) {
		t.Error("the directory of a command identifies an account")
	}
	for _, other := range []tasks.KeySource{{Command: []string{"pass", "show key"}}, {File: "pass"}, {File: "/run/key"}} {
		if keySource(other) == keySource(command) {
			t.Errorf("%+v is the account of %+v", other, command)
		}
	}
}
