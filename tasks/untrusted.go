package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
)

// AfterUntrusted are the rights that a job loses once one of its sessions has read untrusted content.
type AfterUntrusted struct {
	Network bool        // the network, for tools and for all of the job's programs
	MCP     bool        // the tools of MCP servers
	Bash    BashLimit   // "" for none
	Publish PublishMode // the most that is published; "" for no limit
	Source  string      `json:"-"` // where it is defined: FILE:LINE
}

// Revoked returns the rights that are lost, by key, as they are written.
func (a AfterUntrusted) Revoked() map[string]string {
	all := map[string]string{}
	if a.Network {
		all["network"] = "deny"
	}
	if a.MCP {
		all["mcp"] = "none"
	}
	if a.Bash != "" {
		all["bash"] = string(a.Bash)
	}
	if a.Publish != "" {
		all["publish"] = string(a.Publish)
	}
	return all
}

// String returns the rights with where they are defined.
func (a AfterUntrusted) String() string {
	var list []string
	for key, value := range a.Revoked() {
		list = append(list, key+": "+value)
	}
	slices.Sort(list)
	return fmt.Sprintf("{%s} (%s)", strings.Join(list, ", "), a.Source)
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

// LimitedBash are the values of after_untrusted.bash, from the least that is revoked to the most.
func LimitedBash() []BashLimit { return []BashLimit{BashReadonly, BashNone} }

// AtLeast returns the job as one that loses at least what policies revoke: its manifest can only revoke more.
func (j Job) AtLeast(all []policy.AfterUntrusted) Job {
	for _, p := range all {
		j.AfterUntrusted, j.Untrusted = j.AfterUntrusted.AtLeast(p), slices.Concat(j.Untrusted, p.Files)
	}
	return j
}

// AtLeast returns the rights that are lost with those that a policy revokes; nil loses none.
func (a *AfterUntrusted) AtLeast(p policy.AfterUntrusted) *AfterUntrusted {
	var own AfterUntrusted
	if a != nil {
		own = *a
	}
	both := own
	both.Network, both.MCP = own.Network || p.Network, own.MCP || p.MCP
	both.Bash, both.Publish = stricter(LimitedBash(), own.Bash, p.Bash), stricter(LimitedModes(), own.Publish, p.Publish)
	switch {
	case a == nil:
		both.Source = p.Source
	case both != own:
		both.Source += ", " + p.Source
	}
	return &both
}

// stricter returns the later of two values in an order; "", which revokes nothing, is before all.
func stricter[T ~string](order []T, own T, least string) T {
	if slices.Index(order, T(least)) > slices.Index(order, own) {
		return T(least)
	}
	return own
}

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
