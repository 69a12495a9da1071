package publish

import (
	"errors"
	"strings"
	"testing"
)

// TestFixesOfRejectedPushes has the messages of forges.
func TestFixesOfRejectedPushes(t *testing.T) {
	for message, want := range map[string][]string{
		"error: GH006: Protected branch update failed for refs/heads/main. error: Commits must have valid signatures. Changes must be made through a pull request.": {byGitHub, byPull},
		"error: GH013: Repository rule violations found for refs/heads/x. - Commits must have verified signatures. Found 1 violation: 2f9a0b6e":                     {byGitHub},
		"error: GH013: Repository rule violations found for refs/heads/x. - Cannot create ref due to creations being restricted.":                                   {byBranch},
		"error: GH013: Repository rule violations found for refs/heads/x. - Cannot force-push to this branch":                                                       {byNewName},
		"error: GH006: Protected branch update failed for refs/heads/main. error: Required status check \"Build\" is expected.":                                     {byPull},
		"error: GH013: Repository rule violations found for refs/heads/x. - GITHUB PUSH PROTECTION - Push cannot contain secrets":                                   {byFiles},
		"error: File big.bin is 120.00 MB; this exceeds GitHub's file size limit of 100.00 MB error: GH001: Large files detected.":                                  {byFiles},
		"error: GH007: Your push would publish a private email address.":                                                                                            {byPerson},
		"refusing to allow an OAuth App to create or update workflow `.github/workflows/ci.yml` without `workflow` scope":                                           {byWorkflow},
		"GitLab: Commit must be signed with a GPG key":                                                                                                              {bySigning},
		"GitLab: You are not allowed to push code to protected branches on this project.":                                                                           {byPull},
		"GitLab: You are not allowed to force push code to a protected branch on this project.":                                                                     {byNewName},
		"GitLab: Branch name does not follow the pattern '^(feature|fix)/'":                                                                                         {byBranch},
		"GitLab: Commit message does not follow the pattern 'JIRA-\\d+'":                                                                                            {byMessage},
		"GitLab: You cannot push commits for 'millhand@localhost'. You can only push commits if the committer email is one of your own verified emails.":            {byPerson},
		"GitLab: File name id_rsa was prohibited by the pattern \"id_rsa$\".":                                                                                       {byFiles},
		"Gitea: branch main is protected from unverified commit 2f9a0b6e":                                                                                           {bySigning},
		"Forgejo: Not allowed to push to protected branch main":                                                                                                     {byPull},
		"Gitea: branch main is protected from force push":                                                                                                           {byNewName},
		"no bots, please": nil,
	} {
		got := pushFix(errors.New("push rejected by the remote: pre-receive hook declined; remote: \"" + message + "\""))
		text := ""
		if len(want) > 0 {
			text = ". " + strings.Join(want, ". ")
		}
		if got != text {
			t.Errorf("%s: fix %q, want %q", message, got, text)
		}
	}
}
