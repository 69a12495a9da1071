package queued

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/tasks"
)

// Options are the options of a command line for workers.
type Options struct {
	Overrides  tasks.Overrides `json:"overrides"`
	MaxProfile string          `json:"max_profile"`
	Untrusted  bool            `json:"untrusted"`
	NoBaseline bool            `json:"no_baseline"`
}

// StandardInput is the path, from the directory that a run was submitted in, that the list of repositories from
// standard input has among the inputs of the run.
const StandardInput = ".millhand/standard-input"

// Resolve returns a path of the command line, absolute.
func Resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// OptionsOf returns the options that a run was submitted with.
func OptionsOf(r *queue.Run) (given Options, err error) {
	if err := json.Unmarshal(r.Options, &given); err != nil {
		return given, fmt.Errorf("options of run %s: %w", r.ID, err)
	}
	return given, nil
}
