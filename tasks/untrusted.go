package tasks

import "slices"

// AfterUntrusted are the rights that a job loses once one of its sessions has read untrusted content.
type AfterUntrusted struct {
	Network bool        // the network, for tools and for all of the job's programs
	MCP     bool        // the tools of MCP servers
	Bash    BashLimit   // "" for none
	Publish PublishMode // the most that is published; "" for no limit
	Source  string      `json:"-"` // where it is defined: FILE:LINE
}

// BashLimit is what commands of an agent may not do any more.
type BashLimit string

// The values of BashLimit.
const (
	BashReadonly BashLimit = "readonly" // they can't write to the workspace
	BashNone     BashLimit = "none"     // they don't run
)

// LimitedModes are the values of after_untrusted.publish, from the most that is published to the least.
func LimitedModes() []PublishMode { return []PublishMode{PublishPush, PublishBranch, PublishPatch} }

// Limits reports whether the job publishes more than the rights allow that are left.
func (a *AfterUntrusted) Limits(j *Job) bool {
	return a != nil && a.Publish != "" && (a.most(j) != j.Publish || j.Comment != nil || j.Requests.Made())
}

// Apply returns the job with what it may still publish. A commit that the forge makes can't stay in the
// repository.
func (a *AfterUntrusted) Apply(j Job) Job {
	if a == nil || a.Publish == "" {
		return j
	}
	j.Publish, j.Comment, j.Later = a.most(&j), nil, nil
	if j.Requests.Made() {
		r := *j.Requests
		r.Skip = "not made after untrusted content was read (after_untrusted.publish: " + string(a.Publish) + ")"
		j.Requests = &r
	}
	if j.Publish != PublishPR {
		j.Pull = nil
	}
	return j
}

// most returns the mode that is left of the job's.
func (a *AfterUntrusted) most(j *Job) PublishMode {
	if a.Publish == PublishPatch || a.Publish == PublishBranch && j.Commit.ByForge() {
		return PublishPatch
	}
	order := []PublishMode{PublishPatch, PublishNone, PublishBranch, PublishPush, PublishPR}
	if slices.Index(order, j.Publish) > slices.Index(order, a.Publish) {
		return a.Publish
	}
	return j.Publish
}
