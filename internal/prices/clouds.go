package prices

import (
	"regexp"
	"strings"
	"sync"
)

// bedrockForm matches the names of Anthropic's models at Bedrock, also those of inference profiles:
// us.anthropic.claude-sonnet-4-5-20250929-v1:0.
var bedrockForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arn:[^/]*/)?([a-z-]+\.)?anthropic\.(.+?)(-v\d+(:\d+)?(:\d+k)?)?$`)
})

// madeBy returns the name in the table of a model that a cloud serves; "" if its maker is unknown.
func madeBy(cloud, name string) string {
	if cloud == "bedrock" {
		if found := bedrockForm().FindStringSubmatch(name); found != nil {
			return "anthropic/" + found[3]
		}
	}
	if bare, _, _ := strings.Cut(name, "@"); cloud == "vertex" { // the version follows
		return "anthropic/" + bare
	}
	return ""
}

// InOneRegion reports whether a cloud processes the requests to a model in one region or group of
// regions, rather than anywhere. region is that of the requests.
func InOneRegion(cloud, name, region string) bool {
	if cloud == "bedrock" {
		_, profile, _ := strings.Cut(name, "/") // of an ARN
		return !strings.HasPrefix(name, "global.") && !strings.HasPrefix(profile, "global.")
	}
	return cloud == "vertex" && region != "global"
}
