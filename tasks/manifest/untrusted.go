package manifest

import (
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// untrusted is what a task loses after it has read untrusted content, as it is written.
type untrusted struct {
	form.Value
	tasks.AfterUntrusted
	network, mcp string
}

var untrustedForm = form.Of[untrusted]{Type: form.TypeOf((*untrusted).keys), Read: readUntrusted}

// readUntrusted reads the rights that are lost. Without any, the report only shows what was read.
func readUntrusted(v form.Value) (untrusted, bool) {
	var u untrusted
	u.keys().Read(v)
	u.Value, u.Source = v, v.RuleSource()
	u.Network, u.MCP = u.network != "", u.mcp != ""
	return u, true
}

const untrustedExample = "after_untrusted: {network: deny, publish: patch, mcp: none, bash: readonly}"

func (u *untrusted) keys() form.Table {
	return form.Table{
		{Name: "network", Field: form.Into(&u.network, form.OneOf([]string{"deny"})), Doc: "deny: no web tools, no remote MCP servers, and no network for any program of the job"},
		{Name: "publish", Field: form.Into(&u.Publish, form.OneOf(tasks.LimitedModes())), Doc: "The most that is published: push: no pull request; branch: a commit in the repository; patch: only the patch. None posts a comment"},
		{Name: "mcp", Field: form.Into(&u.mcp, form.OneOf([]string{"none"})), Doc: "none: no tools of MCP servers, whose processes end"},
		{Name: "bash", Field: form.Into(&u.Bash, form.OneOf(tasks.LimitedBash())), Doc: "readonly: commands can't write to the workspace; none: they don't run"},
	}
}

// readUntrusted reads what a policy revokes from every job.
func (p *policyFile) readUntrusted(v form.Value) {
	u, _ := readUntrusted(v)
	p.AfterUntrusted = &policy.AfterUntrusted{Network: u.Network, MCP: u.MCP, Bash: string(u.Bash), Publish: string(u.Publish), Source: u.Source}
}

// checkUntrusted records a list of untrusted files without a right that is revoked after reading them.
func (t *Task) checkUntrusted() {
	checkUntrusted(t.foreign, t.AfterUntrusted.Key != nil)
}

func checkUntrusted(files form.Value, revokes bool) {
	if files.Key != nil && !revokes {
		files.KeyProblem("untrusted without after_untrusted", "add "+untrustedExample)
	}
}

// LosesRights returns the rights that the task loses; nil for none.
func (t *Task) LosesRights() *tasks.AfterUntrusted {
	if t.AfterUntrusted.Key == nil {
		return nil
	}
	return &t.AfterUntrusted.AfterUntrusted
}
