package gittest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CommitAsForge makes a commit in a bare repository as GitHub does, and returns its hash: by its own committer and
// with a signature, which is not valid. With a file no-signature in the repository it is unsigned.
func CommitAsForge(repo, branch, parent, message string, files map[string]string, deleted []string) (string, error) {
	index := filepath.Join(repo, "forge-index")
	defer os.Remove(index)
	git := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-C", repo}, args...)...) //nolint:noctx // of a fake server, without a context
		cmd.Env, cmd.Stdin = append(os.Environ(), "GIT_INDEX_FILE="+index), strings.NewReader(stdin)
		var problem bytes.Buffer
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, problem.String())
		}
		return strings.TrimSpace(string(out)), err
	}
	if _, err := git("", "read-tree", parent); err != nil {
		return "", err
	}
	var entries strings.Builder
	for path, content := range files {
		blob, err := git(content, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "100644 %s\t%s\n", blob, path)
	}
	for _, path := range deleted {
		fmt.Fprintf(&entries, "0 %040d\t%s\n", 0, path)
	}
	if _, err := git(entries.String(), "update-index", "--index-info"); err != nil {
		return "", err
	}
	tree, err := git("", "write-tree")
	if err != nil {
		return "", err
	}
	signature := "gpgsig -----BEGIN PGP SIGNATURE-----\n \n test\n -----END PGP SIGNATURE-----\n"
	if _, err := os.Stat(filepath.Join(repo, "no-signature")); err == nil {
		signature = ""
	}
	const by = "1800000000 +0000\n"
	commit, err := git(fmt.Sprintf("tree %s\nparent %s\nauthor mill <mill@forge.example> %scommitter GitHub <noreply@github.com> %s%s\n%s", tree, parent, by, by, signature, message), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	_, err = git("", "update-ref", "refs/heads/"+branch, commit, parent)
	return commit, err
}
