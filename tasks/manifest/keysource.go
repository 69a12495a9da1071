package manifest

import (
	"fmt"
	"slices"
	"time"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
)

// oneSource records a second one of keys that exclude each other.
func oneSource(got map[string]form.Value, names ...string) {
	given := slices.DeleteFunc(names, func(name string) bool { _, ok := got[name]; return !ok })
	if len(given) > 1 {
		got[given[1]].KeyProblem(fmt.Sprintf("%s and %s are both set", given[0], given[1]), "remove one of them")
	}
}

// readKeyCommand returns the keys of a key_command; nil without one, or if a policy does
// not list it. It runs outside of the sandbox.
func readKeyCommand(got map[string]form.Value, command programs.Command, ttl time.Duration, dir string) *tasks.KeySource {
	at, timed := got["ttl"]
	if _, given := got["key_command"]; timed && !given {
		at.KeyProblem("ttl requires key_command", "add key_command, or remove ttl")
	}
	if len(command.Args) == 0 || got["key_command"].RefusedKeySource("a command for keys", command.Args[0]) {
		return nil
	}
	got["key_command"].Uses().KeyCommand(got["key_command"], command.Written[1:])
	return &tasks.KeySource{Command: command.Args, Dir: dir, TTL: ttl}
}

// writtenKey returns a source of keys as the manifest has it, without paths of this machine.
func writtenKey(k *tasks.KeySource, command programs.Command, file string) *tasks.KeySource {
	if k == nil {
		return nil
	}
	return &tasks.KeySource{Command: command.Written, TTL: k.TTL, File: file}
}

// keyPaths are the paths of a source of keys on this machine.
func keyPaths(k *tasks.KeySource) string {
	if k == nil {
		return ""
	}
	return fmt.Sprint(k.Command, k.Dir, k.File)
}
