package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// writers lists the packages and files that write files without internal/files, and why their paths are safe: no one
// else names them, or another mechanism confines them.
func writers() map[string]string {
	return map[string]string{
		"internal/files":            "it is the rule; internal/files/workspace writes beneath an os.Root",
		"internal/gitops":           "worktrees, with git's names",
		"internal/gitops/state":     "files of a working tree that are restored, and copies of objects",
		"internal/gitops/store":     "objects, with git's names",
		"internal/gitops/content":   "files of Git LFS, with its names",
		"internal/gitops/gitdir":    "a git directory, with git's locks",
		"internal/gitops/objectdb":  "packs, with git's names",
		"internal/files/sharedfile": "its callers name the paths, and count as if they called package os",
		"internal/gitops/remote":    "mirrors, with git's names",

		"internal/files/owner":              "its callers name the paths, and count as if they called package os",
		"internal/rundir":                   "the private directory of a run, which only its user can change",
		"internal/extension/jshost":         "a program for the sandbox, below that directory",
		"runner/confinement/caches.go":      "caches of a job, below that directory",
		"runner/rebase.go":                  "the worktree of a rebase, below that directory",
		"runner/runhooks.go":                "the workspace of a hook, below that directory",
		"runner/savedjob/publish.go":        "a copy of a patch, below that directory",
		"runner/confinement/privatedirs.go": "copies of private directories of a job, below that directory",
		"runner/site/cleancheckout.go":      "a checkout of a job, beneath its os.Root",
		"runner/taskscript/taskscript.go":   "the script of a task, below that directory",
		"tasks/queue.go":                    "the directory of a worker, and inputs beneath its os.Root",
		"internal/sandbox":                  "devices, and files of cgroups",
		"internal/sandbox/child":            "it is confined itself",

		"internal/sandbox/gocache":               "a cache below a directory of the sandbox",
		"internal/command/environ.go":            "the memory of this process",
		"internal/app/doctor/directories.go":     "creates the user's TMPDIR",
		"internal/app/machine/nameless_linux.go": "a file without a name",

		"internal/prices/generate":     "a program of developers",
		"internal/testing/e2e/scripts": "tests",
		"internal/testing/gittest":     "tests",
		"internal/testing/lsptest":     "tests",
		"internal/testing/mcptest":     "tests",
		"internal/testing/tooltest":    "tests",
		"internal/testing/wiretest":    "tests",
	}
}

// A path that somebody else named, and that leads through a symlink or to a device, is written only by package files,
// which has rules for it.
func TestFilesAreWrittenByOnePackage(t *testing.T) {
	allowed, used := writers(), map[string]bool{}
	for dir, files := range sources(t) {
		for name, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !writes(call) {
					return true
				}
				used[dir], used[name] = true, true
				if allowed[dir] == "" && allowed[name] == "" {
					t.Errorf("%s writes a file: use internal/files, which follows symlinks and writes devices only where the user names them", name)
				}
				return true
			})
		}
	}
	for name := range allowed {
		if !used[name] {
			t.Errorf("%s writes no files: remove its line", name)
		}
	}
}

// writes reports whether a call of package os may change what a path of others leads to. Those that create only new
// names, such as os.Mkdir and os.CreateTemp, do not.
func writes(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "os" && pkg.Name != "owner" {
		return false
	}
	if sel.Sel.Name != "OpenFile" || len(call.Args) < 2 {
		return slices.Contains([]string{"WriteFile", "Create", "Rename", "MkdirAll", "Truncate", "CopyFS"}, sel.Sel.Name)
	}
	changes := false
	ast.Inspect(call.Args[1], func(n ast.Node) bool {
		if flag, ok := n.(*ast.Ident); ok && (flag.Name == "flags" || strings.Contains("O_WRONLY O_RDWR O_CREATE O_TRUNC O_APPEND", flag.Name)) {
			changes = true
		}
		return true
	})
	return changes
}
