package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/sandbox"
)

// Environment is what the process was started with: variables, keys of
// providers and forges among them, that live in its memory alone.
type Environment map[string]string

// TakeEnvironment takes the environment off the process and keeps others of the
// same user from looking into it. Without that, whoever may read the file
// environ of this process in /proc has every key that it was given.
//
// The memory that the kernel shows there is written over, which takes no time;
// executing the program anew would take some 10 ms. What libraries look for by
// themselves is put back into what os.Getenv reads, which is elsewhere.
//
// It is called once, before anything else runs.
func TakeEnvironment() (Environment, error) {
	env := Environment{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(strings.Clone(kv), "=")
		if _, twice := env[name]; !twice { // the first counts, as for the runtime
			env[name] = value
		}
	}
	os.Clearenv()
	for name, value := range env {
		if !forLibraries(name) {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("keep the variable %s: %w", name, err)
		}
	}
	if err := wipe(); err != nil {
		return nil, fmt.Errorf("take the keys off the environment of the process: %w", err)
	}
	return env, sandbox.Harden()
}

// wipe writes over the memory that the kernel shows as the process's
// environment. Strings of the runtime's that lie there become empty, too, so
// nothing may be left of them.
func wipe() error {
	start, end, err := environmentBlock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // without /proc, nobody is shown anything
	}
	if err != nil || start == end {
		return err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	if _, err := mem.WriteAt(make([]byte, end-start), start); err != nil {
		return err
	}
	shown, err := os.ReadFile("/proc/self/environ")
	if err == nil && len(bytes.Trim(shown, "\x00")) > 0 {
		err = errors.New("it is still there")
	}
	return err
}

// environmentBlock returns where the environment lies, as /proc/self/stat says
// in its fields 50 and 51; the second one is in brackets and may hold anything.
func environmentBlock() (start, end int64, err error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 51-2 {
		return 0, 0, fmt.Errorf("/proc/self/stat has %d fields only", len(fields)+2)
	}
	if start, err = strconv.ParseInt(string(fields[50-3]), 10, 64); err == nil {
		end, err = strconv.ParseInt(string(fields[51-3]), 10, 64)
	}
	if err == nil && (end < start || end-start > 64<<20) {
		err = fmt.Errorf("/proc/self/stat has the environment between %d and %d", start, end)
	}
	return start, end, err
}

// forLibraries tells the variables that libraries read by themselves, and those
// that stand in for flags.
func forLibraries(name string) bool {
	if strings.HasPrefix(name, "MILLHAND_") {
		return !secretName(name)
	}
	return slices.Contains([]string{
		"PATH", "HOME", "TMPDIR", "TZ", "LANG", "GODEBUG", "GOCOVERDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "REQUEST_METHOD",
	}, name)
}

// Getenv returns a variable, "" if it was not set.
func (e Environment) Getenv(name string) string { return e[name] }

// Secrets returns the values of variables whose names say that they are secret,
// if they look it: a short or plain one is in too many texts by chance.
func (e Environment) Secrets() []string {
	var values []string
	for name, value := range e {
		if secretName(name) && looksSecret(value) {
			values = append(values, value)
		}
	}
	return values
}

// secretName tells variables that hold keys by their names.
func secretName(name string) bool {
	parts := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if n := len(parts); n > 0 && slices.Contains([]string{"FILE", "PATH", "DIR", "URL", "NAME"}, parts[n-1]) {
		return false
	}
	for _, word := range []string{
		"TOKEN", "KEY", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASS", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT", "APIKEY", "WEBHOOK", "AUTHORIZATION", "COOKIE",
	} {
		if slices.Contains(parts, word) {
			return true
		}
	}
	return false
}

// looksSecret tells a key from a word, a path or a number.
func looksSecret(value string) bool {
	value = strings.TrimSpace(value)
	return len(value) >= 16 && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, func(r rune) bool { return r > '9' }) &&
		!strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "~")
}
