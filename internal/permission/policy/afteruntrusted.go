package policy

// AfterUntrustedKey and UntrustedKey are the keys of [AfterUntrusted] in a policy file.
const (
	AfterUntrustedKey = "after_untrusted"
	UntrustedKey      = "untrusted"
)

// AfterUntrusted is what every job loses, whatever its manifest allows, once one of its sessions has read untrusted content. The
// values are those of the key of tasks.
type AfterUntrusted struct {
	Network, MCP  bool
	Bash, Publish string
	Files         []string // globs of untrusted files, in addition to those of tasks
	Source        string   // FILE:LINE
}

// AfterUntrusted returns what each policy of the set revokes.
func (s Set) AfterUntrusted() (all []AfterUntrusted) {
	for _, p := range s {
		if p.AfterUntrusted != nil {
			all = append(all, *p.AfterUntrusted)
		}
	}
	return all
}
