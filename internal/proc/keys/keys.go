// Package keys provides API keys and tokens that change during a run: a command of the user prints them, a file
// contains them, or a server issues them. It does not know what a key is for, and stores none.
package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	again       = time.Minute // after a failure to replace a key that is still used
	commandTime = time.Minute
	maxKey      = 16 << 10 // bytes
	maxErrors   = 4 << 10  // bytes of a command's error output that are quoted
)

// Source provides a key. It is safe for concurrent use.
type Source struct {
	read Read
	now  func() time.Time
	hold func(key string)

	lock  chan struct{} // of one element, so that waiting for it can be canceled
	key   string
	until time.Time // zero: until it is rejected
}

// Unavailable is why a key can't be created now, but perhaps later.
type Unavailable struct{ Err error }

// Error returns that of the error inside.
func (e *Unavailable) Error() string { return e.Err.Error() }

// Unwrap returns the error inside.
func (e *Unavailable) Unwrap() error { return e.Err }

// Read reads or creates a key, and returns until when it is used; zero is until it is
// rejected.
type Read func(ctx context.Context) (key string, until time.Time, err error)

// New returns the keys that read provides, which is called before the first request. hold
// is called with each new key, before it is used.
func New(read Read, now func() time.Time, hold func(key string)) *Source {
	return &Source{read: read, now: now, hold: hold, lock: make(chan struct{}, 1)}
}

// Command describes a command that prints a key.
type Command struct {
	Args []string
	Dir  string
	Env  []string
	TTL  time.Duration // how long a key is used; 0 until it is rejected
}

// FromCommand returns the keys that a command prints. It runs outside of the sandbox, before
// the first request.
func FromCommand(c Command, now func() time.Time, hold func(key string)) *Source {
	return New(func(ctx context.Context) (string, time.Time, error) {
		key, err := c.run(ctx)
		if c.TTL == 0 {
			return key, time.Time{}, err
		}
		return key, now().Add(c.TTL), err
	}, now, hold)
}

// FromFile returns the key in a file, which is read for each request: others replace it.
func FromFile(path string, now func() time.Time, hold func(key string)) *Source {
	return New(func(context.Context) (string, time.Time, error) {
		key, err := readFile(path)
		return key, now(), err
	}, now, hold)
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	key, err := keyIn(text)
	if err != nil {
		return "", fmt.Errorf("read the key in %s: %w", path, err)
	}
	return key, nil
}

// Key returns the key for a request. One that can't be replaced in time is used until a server
// rejects it.
func (s *Source) Key(ctx context.Context) (string, error) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-s.lock }()
	if s.key != "" && (s.until.IsZero() || s.now().Before(s.until)) {
		return s.key, nil
	}
	key, until, err := s.read(ctx)
	if err != nil && s.key != "" && ctx.Err() == nil {
		s.until = s.now().Add(again)
		return s.key, nil
	}
	if err != nil {
		return "", err
	}
	if key != s.key {
		s.hold(key)
	}
	s.key, s.until = key, until
	return key, nil
}

// Reject reports that a server did not accept a key: the next one is a new one.
func (s *Source) Reject(ctx context.Context, key string) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done(): // the request does not need a new one
		return
	}
	defer func() { <-s.lock }()
	if s.key == key {
		s.key = ""
	}
}

// run runs the command once.
func (c Command) run(ctx context.Context) (string, error) {
	name := c.Args[0]
	said, err := os.CreateTemp("", "millhand-key-*")
	if err != nil {
		return "", fmt.Errorf("run key_command %s: %w", name, err)
	}
	defer os.Remove(said.Name())
	defer said.Close()
	var out bytes.Buffer
	res, err := proc.Run(ctx, proc.Command{Args: c.Args, Dir: c.Dir, Env: c.Env, Timeout: commandTime, Output: &out, Stderr: said})
	if err != nil {
		return "", fmt.Errorf("run key_command: %w", err)
	}
	reason := fmt.Sprintf("exit code %d", res.ExitCode)
	if res.TimedOut {
		reason = "timed out after " + commandTime.String()
	}
	if res.TimedOut || res.ExitCode != 0 {
		text := make([]byte, maxErrors)
		n, _ := said.ReadAt(text, 0) // the message is an addition
		return "", fmt.Errorf("key_command %s failed, %s: %s", name, reason, textcut.OneLine(string(text[:n])))
	}
	key, err := keyIn(out.Bytes())
	if err != nil {
		return "", fmt.Errorf("read the output of key_command %s: %w", name, err)
	}
	return key, nil
}

// keyIn returns the key in a text, which may have space around it. Errors don't quote it.
func keyIn(text []byte) (string, error) {
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return "", errors.New("it is empty")
	case len(key) > maxKey:
		return "", fmt.Errorf("more than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("it is not one word of ASCII characters")
	}
	return key, nil
}
