package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/proc"
)

// systemDirs returns the system directories that programs require.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/sys"}
}

// ReplacedDirs returns the directories of the machine that commands at level
// Full see private ones instead of, except for the paths that are granted.
func ReplacedDirs() []string { return []string{"/tmp", "/var/tmp"} }

// devices returns the nodes of /dev that programs require, and that are harmless.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// entry is a path that is granted because its directory is not.
type entry struct {
	path string
	file bool // not a directory
}

// without returns the paths of a directory except some paths in it, for Landlock, which
// has no exceptions.
func without(dir string, hidden []string) []entry {
	inside := func(p string) (exactly, below bool) {
		for _, h := range hidden {
			exactly = exactly || h == p
			below = below || h != p && pathtree.Within(h, p)
		}
		return exactly, below
	}
	exactly, below := inside(dir)
	if exactly {
		return nil
	}
	if !below {
		return []entry{{path: dir}}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []entry
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 { // its target has its own rules
			continue
		}
		for _, in := range without(filepath.Join(dir, e.Name()), hidden) {
			in.file = in.file || !e.IsDir()
			out = append(out, in)
		}
	}
	return out
}

// Toolchains returns the directories that programs in a PATH require, except system
// directories: those of PATH itself, and those of common version managers below the real
// home. They contain programs, not credentials.
func Toolchains(home, path string) []string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != filepath.Clean(home) && !pathtree.Within(home, filepath.Clean(dir)) {
			out = append(out, dir)
			out = append(out, besideBin(home, filepath.Clean(dir))...)
		}
	}
	if home == "" {
		return out
	}
	for _, v := range versionManagers() {
		if dir := filepath.Join(home, v.dir); isDirectory(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// versionManager installs programs below the user's home.
type versionManager struct {
	dir  string // relative to the home
	home string // variable that names dir; "" if programs find it by themselves
}

func versionManagers() []versionManager {
	all := []versionManager{
		{".rustup", "RUSTUP_HOME"},
		{".pyenv", "PYENV_ROOT"},
		{".nvm", "NVM_DIR"},
		{".volta", "VOLTA_HOME"},
		{".asdf", "ASDF_DATA_DIR"},
		{".sdkman", "SDKMAN_DIR"},
		{".rbenv", "RBENV_ROOT"},
		{".goenv", "GOENV_ROOT"},
		{".nodenv", "NODENV_ROOT"},
		{".local/share/mise", "MISE_DATA_DIR"},
	}
	for dir := range strings.FieldsSeq(".bun/bin .deno/bin .local/bin .local/share/uv .local/share/pnpm .dotnet sdk go/bin") {
		all = append(all, versionManager{dir: dir})
	}
	return all
}

// ToolchainEnv returns the variables by which programs of version managers find their
// versions, since HOME is another directory in a sandbox. An environment that has one
// keeps it.
func ToolchainEnv(home string, env []string) []string {
	var out []string
	for _, v := range versionManagers() {
		if dir := filepath.Join(home, v.dir); home != "" && v.home != "" && proc.Value(env, v.home) == "" && isDirectory(dir) {
			out = append(out, v.home+"="+dir)
		}
	}
	return out
}

// besideBin returns the directories that the programs in a directory named bin usually
// require: lib, lib64 and libexec next to it, or, for Go, the directory that it is in.
func besideBin(home, dir string) (out []string) {
	prefix := filepath.Dir(dir)
	system := slices.ContainsFunc(systemDirs(), func(s string) bool { return pathtree.Within(prefix, s) })
	if filepath.Base(dir) != "bin" || prefix == "/" || system || pathtree.Within(home, prefix) {
		return nil
	}
	names := []string{"lib", "lib64", "libexec"}
	if isDirectory(filepath.Join(prefix, "src", "runtime")) && isDirectory(filepath.Join(prefix, "pkg")) {
		names = []string{"."}
	}
	for _, name := range names {
		if beside := filepath.Join(prefix, name); isDirectory(beside) {
			out = append(out, beside)
		}
	}
	return out
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// owner returns the owner of a file.
func owner(name string) (uid, gid int, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, &fs.PathError{Op: "get the owner of", Path: name, Err: syscall.ENOTSUP}
	}
	return int(st.Uid), int(st.Gid), nil
}
