package expand

import (
	"reflect"

	"github.com/millhand/millhand/tasks"
)

// What is decided of a field that a hash contains. Others have the reason why it does not
// contain them by themselves.
const (
	inHash   = ""                // in the list of values that the first versions hashed, zero or not
	whereSet = "where it is set" // with its name, so that a new key changes no hash of a manifest without it
)

// jobFields decides for each field of a job. One without an entry is hashed where it is set, and
// fails a test.
var jobFields = map[string]string{
	"ID":    "it may hold the name of the current directory",
	"Index": "other tasks of the manifest move it",
	"Hash":  "it is the result",

	"Task": inHash, "Repo": inHash, "Matrix": inHash, "Prompt": inHash, "Mentions": inHash, "Agent": inHash,
	"ModelName": inHash, "Fallback": inHash, "Escalate": inHash, "KeepBase": whereSet, "Sampling": inHash, "Limits": inHash, "Setup": inHash, "SetupEnv": inHash,
	"Script": inHash, "Verify": inHash, "Baseline": inHash, "Attempts": inHash, "RequireChanges": inHash, "Change": inHash, "Review": inHash,
	"Commit": inHash, "Publish": inHash, "Pull": inHash, "Comment": inHash, "Skip": inHash, "If": inHash,
	"AfterUntrusted": whereSet, "Untrusted": whereSet, "Ablate": whereSet,

	"Requests": whereSet,

	"Context": whereSet,

	"Model":        "ModelName is hashed instead, which has no directory of this machine",
	"Instructions": "a digest of what all jobs of the task share contains them",
	"Schema":       "likewise",
	"FromEvent":    "the prompt contains it",
	"Profile":      "likewise",
	"Findings":     "the schema implies it",
	"Protect":      "Commit contains the job's own; a policy's differ between machines",
	"Later":        "a run does nothing with it",
	"Changing":     "other fields imply it",
	"Beside":       "it is of this machine",
	"Borrows":      "likewise",
	"Needs":        "tasks are hashed instead: ids may hold the name of the current directory",
	"Output":       "it is only the file of the final message: a run that could not write it is resumed with another one",
}

// planFields is the same for a plan.
var planFields = map[string]string{
	"Name":      "a file can be renamed",
	"Manifests": "likewise",
	"Hash":      "it is the result",
	"Elsewhere": "the plan with all shards is hashed",
	"Shard":     "all shards have the hash of the plan",
	"Parallel":  "a run is resumed with another number of concurrent jobs",
	"Clones":    "likewise",
	"Budget":    "a run that exceeded its budget is resumed with a larger one",
	"Rollout":   "it decides when a job runs, not what it does",

	"Jobs": inHash, "AllowDirty": inHash, "AllowUnknownPrice": inHash, "Prices": inHash, "Batch": inHash, "Output": inHash,
	"Evidence": inHash,

	"Agents":    "the definitions of manifests are hashed instead",
	"Providers": "likewise",
	"Search":    "likewise",
	"Tools":     "likewise",
	"MCP":       "likewise",
	"Scripts":   "likewise",
	"Hooks":     "likewise",
	"LSP":       "likewise",
	"Skills":    "likewise",

	"Commands":   "the prompts that were read are hashed",
	"AgentFiles": "the agents that were read are hashed",
	"Profiles":   "those that jobs use are hashed with the jobs",
	"Forges":     "access to a host is of this machine",
	"Sources":    "their repositories are hashed with the jobs",
	"Follow":     "it is for what happens to a pull request after the run",
	"Policies":   "they differ between machines",
	"Notes":      "they describe how jobs were selected",
	"Uses":       "it is of this machine",
}

// withNew adds to a hash the fields of a struct that are hashed where they are set. The struct is behind
// a pointer, because a copy of each job in a large plan is memory.
func withNew[T any](hash string, of *T, decided map[string]string) string {
	for field, value := range reflect.ValueOf(of).Elem().Fields() {
		if how, ok := decided[field.Name]; (!ok || how == whereSet) && !value.IsZero() {
			hash = tasks.Digest(hash, field.Name, value.Interface())
		}
	}
	return hash
}
