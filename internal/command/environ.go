package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/redact"
)

// Environment has the variables that the process was started with, including keys
// of providers and forges. They are only in the memory of the process.
type Environment map[string]string

// TakeEnvironment removes the environment from the process and prevents other
// processes of the user from inspecting it. Otherwise whoever can read
// /proc/PID/environ of this process has all its keys.
//
// The memory that the kernel exposes there is overwritten; executing the program
// again would cost about 10 ms. Variables that libraries read are set again for
// os.Getenv, which reads other memory.
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
			return nil, fmt.Errorf("set the variable %s: %w", name, err)
		}
	}
	if err := wipe(); err != nil {
		return nil, fmt.Errorf("remove keys from the environment of the process: %w", err)
	}
	return env, sandbox.Harden()
}

// wipe overwrites the memory that the kernel exposes as the process's environment.
// Strings of the Go runtime that point there are cleared too, so none may be in use.
func wipe() error {
	start, end, err := environmentBlock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // without /proc nothing is exposed
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
		err = errors.New("it was not overwritten")
	}
	return err
}

// environmentBlock returns the addresses of the environment: fields 50 and 51 of
// /proc/self/stat. Field 2, in parentheses, may contain any bytes.
func environmentBlock() (start, end int64, err error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 51-2 {
		return 0, 0, fmt.Errorf("/proc/self/stat has only %d fields", len(fields)+2)
	}
	if start, err = strconv.ParseInt(string(fields[50-3]), 10, 64); err == nil {
		end, err = strconv.ParseInt(string(fields[51-3]), 10, 64)
	}
	if err == nil && (end < start || end-start > 64<<20) {
		err = fmt.Errorf("invalid environment in /proc/self/stat: %d to %d", start, end)
	}
	return start, end, err
}

// forLibraries reports whether libraries read the variable, or it sets a flag.
func forLibraries(name string) bool {
	if strings.HasPrefix(name, "MILLHAND_") {
		return !redact.IsSecretName(name)
	}
	if strings.HasPrefix(name, "AZURE_OPENAI_") { // keys, which the programs of Azure do not need
		return false
	}
	for _, cloud := range []string{"AWS_", "GOOGLE_", "CLOUDSDK_", "GCE_METADATA_", "AZURE_", "IDENTITY_", "MSI_", "IMDS_"} { // which their SDKs read; see package login
		if strings.HasPrefix(name, cloud) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "HOME", "TMPDIR", "TZ", "LANG", "GODEBUG", "GOCOVERDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "REQUEST_METHOD",
		"0", // the shell, for completions
	}, name)
}

// Getenv returns a variable, "" if it was not set.
func (e Environment) Getenv(name string) string { return e[name] }

// names returns the sorted names of the variables that are not empty.
func (e Environment) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e)), func(name string) bool { return e[name] == "" })
}

// Secrets returns the values of variables with secret names, if they look like
// secrets: short or simple values occur in too many texts by chance.
func (e Environment) Secrets() []string {
	var values []string
	for name, value := range e {
		if redact.IsSecretName(name) && redact.LooksSecret(value) {
			values = append(values, value)
		}
	}
	return values
}
