package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Look finds a program in the PATH of an environment. A name with a slash is
// returned unchanged.
func Look(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := Value(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 && filepath.IsAbs(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("find program %s: not in any directory of PATH %q", name, path)
}

// Value returns a variable of an environment, "" if it is not set.
func Value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// CIFiles lists the variables that name the files by which a step talks to its
// CI system. They are never passed to commands.
func CIFiles() []string {
	return []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"}
}

// ChildEnv returns the environment of a command from an allow-list: common
// variables, and those in extra. It contains nothing else of the parent's
// environment, so an API key only if it is named.
func ChildEnv(getenv func(string) string, extra []string) []string {
	var env []string
	for _, name := range append([]string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"}, extra...) {
		if v := getenv(name); v != "" && !slices.Contains(CIFiles(), name) {
			env = Set(env, name, v)
		}
	}
	if Value(env, "PATH") == "" {
		env = Set(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	return env
}

// Set returns env with one variable set, replacing what it was.
func Set(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}
