package world

import (
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// CacheDir is the directory of data between runs that can be re-created. It is below
// the current directory if the process has no home, for example under cron.
func (w World) CacheDir() string {
	if dir := w.UserCacheDir(); dir != "" {
		return dir
	}
	return filepath.Join(w.Dir, ".millhand", "cache")
}

// UserCacheDir is the directory of such data that belongs to the user; "" for none.
func (w World) UserCacheDir() string {
	for _, dir := range []struct{ env, below string }{
		{"MILLHAND_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "millhand"}, {"HOME", ".cache/millhand"},
	} {
		if at := w.Getenv(dir.env); filepath.IsAbs(at) {
			return filepath.Join(at, dir.below)
		}
	}
	return ""
}

// Mirrors is the directory of the mirrors of repositories that are elsewhere.
func (w World) Mirrors() string { return filepath.Join(w.CacheDir(), "mirrors") }

// StateDir is the directory of data between runs that can't be re-created.
func (w World) StateDir() (string, error) {
	for _, dir := range []struct{ env, below string }{{"XDG_STATE_HOME", "millhand"}, {"HOME", ".local/state/millhand"}} {
		if at := w.Getenv(dir.env); filepath.IsAbs(at) {
			return filepath.Join(at, dir.below), nil
		}
	}
	return "", fault.New(event.ExitUsage, "budget.day requires a directory for the cost of runs: set HOME or XDG_STATE_HOME; nothing was run")
}
