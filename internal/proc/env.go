package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Look finds a program on the PATH of an environment. A name with a slash is
// taken as it is.
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

// CIFiles lists the variables that name files by which a step speaks to its CI
// system. No child gets to know them, whoever names them.
func CIFiles() []string {
	return []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"}
}

// ChildEnv makes the environment of a child from an allow-list: the names that
// every program may need, and those in extra. Nothing else of the parent's
// environment is in it, so a key can't be unless it is named.
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
