package publish

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/forge"
)

// rule is a rule of a forge about pushes: what its message contains, in lower case, and the fix.
// docs/bulk.md has the same table.
type rule struct{ text, fix string }

// The fixes of several rules.
const (
	bySigning  = "Sign the commits of the next run (commit.sign: ssh or openpgp) with a key that the forge knows for the address of the committer; sign this change by hand: git apply PATCH, git commit -S"
	byGitHub   = "Sign the commits of the next run: commit.sign: api, or ssh or openpgp with a key that GitHub knows for the address of the committer; sign this change by hand: git apply PATCH, git commit -S"
	byPull     = "Push to another branch (commit.branch) with publish.mode: pr, or let the token's user push to this one"
	byBranch   = "Set commit.branch to a name that the rules allow"
	byMessage  = "Set commit.message as the rule requires it"
	byPerson   = "Set commit.author, and GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL of signed commits, as the rule requires it"
	byNewName  = "The branch must not be replaced: set another commit.branch, or allow forced pushes"
	byFiles    = "Exclude the files from the change: large ones by .gitignore or Git LFS, and secrets"
	byWorkflow = "Give the token the scope \"workflow\", or the permission \"Workflows: write\" of a fine-grained token or a GitHub App; the token that GitHub creates for a workflow can't have it"
)

// rules are those of GitHub (GH001, GH006, GH007, GH013), GitLab, and Gitea with Forgejo.
var rules = []rule{
	{"must have verified signatures", byGitHub},
	{"must have valid signatures", byGitHub},
	{"commit must be signed", bySigning},
	{"is protected from unverified commit", bySigning},
	// Of Gitea 1.26, which fails at its own check of signatures.
	{"internal server error (no message for end users)", "A check of the push failed in the server, perhaps that of required signatures (commit.sign): its log has the reason"},
	{"changes must be made through a pull request", byPull},
	{"required status check", byPull},
	{"cannot update this protected ref", byPull},
	{"not allowed to push code to protected branches", byPull},
	{"not allowed to push to protected branch", byPull},
	{"cannot force-push", byNewName},
	{"force-pushing to this branch", byNewName},
	{"not allowed to force push", byNewName},
	{"is protected from force push", byNewName},
	{"creations being restricted", byBranch},
	{"branch name does not follow", byBranch},
	{"branch name must", byBranch},
	{"commit message does not follow", byMessage},
	{"commit message must", byMessage},
	{"commit message contains the forbidden pattern", byMessage},
	{"must contain a dco signoff", byMessage},
	{"author's email", byPerson},
	{"author's commit email", byPerson},
	{"committer's email", byPerson},
	{"committer email", byPerson},
	{"is not a member of team", byPerson},
	{"would publish a private email address", byPerson},
	{"file size limit", byFiles},
	{"larger than the allowed size", byFiles},
	{"cannot contain secrets", byFiles},
	{"secrets detected", byFiles},
	{"was prohibited by the pattern", byFiles},
	{"is protected from changing file", "Leave these files to people, or allow the token's user to change them"},
}

// pushFix returns the fixes for a rejected push, to be added to its error; "" for none.
func pushFix(err error) string {
	text := strings.ToLower(err.Error())
	var fixes []string
	for _, r := range rules {
		if strings.Contains(text, r.text) && !slices.Contains(fixes, r.fix) {
			fixes = append(fixes, r.fix)
		}
	}
	if forge.RefusesWorkflow(text) {
		fixes = append(fixes, byWorkflow)
	}
	if len(fixes) == 0 {
		return ""
	}
	return ". " + strings.Join(fixes, ". ")
}
