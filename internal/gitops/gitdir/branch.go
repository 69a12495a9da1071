package gitdir

import (
	"fmt"
	"strings"
)

// maxComponent is the maximum that leaves space for ".lock" in a file name
// of 255 bytes.
const maxComponent = 250

// ValidBranch returns an error for an invalid branch name. The rules are those
// of git check-ref-format --branch, and a length limit of each component, which
// must fit in a file name.
func ValidBranch(name string) error {
	if reason := badBranch(name); reason != "" {
		return fmt.Errorf("branch name %q %s", name, reason)
	}
	return nil
}

func badBranch(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "HEAD" || name == "@":
		return "is reserved"
	case name[0] == '-':
		return "starts with a hyphen"
	case strings.HasSuffix(name, "."):
		return "ends with a dot"
	case strings.Contains(name, ".."):
		return "contains consecutive dots"
	case strings.Contains(name, "@{"):
		return `contains "@{"`
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return fmt.Sprintf("contains %q", c)
		}
	}
	for component := range strings.SplitSeq(name, "/") {
		if reason := badComponent(component); reason != "" {
			return reason
		}
	}
	return ""
}

func badComponent(component string) string {
	switch {
	case component == "":
		return "starts or ends with a slash, or contains consecutive slashes"
	case component[0] == '.':
		return "has a component that starts with a dot"
	case strings.HasSuffix(component, ".lock"):
		return "has a component that ends with .lock"
	case len(component) > maxComponent:
		return fmt.Sprintf("has a component longer than %d bytes", maxComponent)
	}
	return ""
}
