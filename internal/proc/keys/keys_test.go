package keys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// counting returns a command that prints key-1, key-2 and so on.
func counting(t *testing.T) Command {
	t.Helper()
	return Command{
		Args: []string{"bash", "-c", `echo "noise" >&2; echo x >>runs; echo "key-$(grep -c . runs)"`},
		Dir:  t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
	}
}

func TestAKeyIsUsedUntilItExpiresOrIsRejected(t *testing.T) {
	now := time.Unix(0, 0)
	var held []string
	c := counting(t)
	c.TTL = time.Hour
	s := FromCommand(c, func() time.Time { return now }, func(key string) { held = append(held, key) })
	next := func(want string) {
		t.Helper()
		if got, err := s.Key(t.Context()); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	next("key-1")
	now = now.Add(59 * time.Minute)
	next("key-1")
	now = now.Add(2 * time.Minute)
	next("key-2")
	s.Reject(t.Context(), "key-1") // a request that began earlier
	next("key-2")
	s.Reject(t.Context(), "key-2")
	next("key-3")
	if got := strings.Join(held, " "); got != "key-1 key-2 key-3" {
		t.Errorf("held %s", got)
	}
}

// Concurrent requests share one run of the command, and each can be canceled.
func TestConcurrentRequestsShareOneKey(t *testing.T) {
	s := FromCommand(counting(t), time.Now, func(string) {})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := s.Key(t.Context()); got != "key-1" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	s.lock <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Key(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Reject(ctx, "key-1")
}

func TestAFailedCommandIsAnErrorWithoutTheKey(t *testing.T) {
	for script, want := range map[string]string{
		"echo secret-key; echo no login >&2; exit 3": "key_command bash failed, exit code 3: no login",
		"true":                                 "read the output of key_command bash: it is empty",
		"echo two words":                       "it is not one word",
		`printf 'a\nb'`:                        "it is not one word",
		"head -c 20000 /dev/zero | tr '\\0' a": "more than 16384 bytes",
	} {
		s := FromCommand(Command{Args: []string{"bash", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}, time.Now, func(string) {})
		_, err := s.Key(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%s: %v", script, err)
		}
	}
	if _, err := FromCommand(Command{Args: []string{"no-such-program"}}, time.Now, func(string) {}).Key(t.Context()); err == nil {
		t.Error("a missing program has printed a key")
	}
}

func TestAFileIsReadForEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	s := FromFile(file, time.Now, func(string) {})
	if _, err := s.Key(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, key := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Key(t.Context()); got != key || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestKeyThatCanNotBeReplacedInTime is used until a server rejects it: it is replaced before it expires.
func TestKeyThatCanNotBeReplacedInTime(t *testing.T) {
	now, reads, down := time.Unix(0, 0), 0, false
	s := New(func(context.Context) (string, time.Time, error) {
		reads++
		if down {
			return "", time.Time{}, &Unavailable{errors.New("no server")}
		}
		return "key-" + strings.Repeat("i", reads), now.Add(55 * time.Minute), nil
	}, func() time.Time { return now }, func(string) {})
	next := func(want string, reading int) {
		t.Helper()
		if got, err := s.Key(t.Context()); got != want || err != nil || reads != reading {
			t.Errorf("got %q, %v after %d reads, want %q after %d", got, err, reads, want, reading)
		}
	}
	next("key-i", 1)
	now, down = now.Add(56*time.Minute), true
	next("key-i", 2)
	next("key-i", 2) // not for each request
	now = now.Add(time.Minute)
	next("key-i", 3)
	s.Reject(t.Context(), "key-i")
	var later *Unavailable
	if _, err := s.Key(t.Context()); !errors.As(err, &later) || err.Error() != "no server" {
		t.Errorf("error %v", err)
	}
	down = false
	next("key-iiiii", 5)
}
