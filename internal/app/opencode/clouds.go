package opencode

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// cloudKind returns millhand's kind of a provider that a cloud serves: bedrock or vertex; "" for others.
func cloudKind(defined *node, id string) string {
	kind := kindOf(defined.get(id, "npm").text())
	switch {
	case kind == "" && id == "amazon-bedrock":
		return "bedrock"
	case kind == "" && id == "google-vertex-anthropic":
		return "vertex"
	case kind == "bedrock", kind == "vertex":
		return kind
	}
	return ""
}

// served reports whether millhand calls a model of a provider: of clouds only Anthropic's.
func served(defined *node, id, model string) bool {
	return cloudKind(defined, id) == "" || strings.Contains(model, "claude") || strings.HasPrefix(model, "arn:")
}

// grouped matches models that are named with their group of regions.
var grouped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(arn:|(global|us|us-gov|eu|jp|apac|au)\.)`) })

// inGroup returns the name of a model with the group of regions that OpenCode adds for the
// region of its configuration: Bedrock serves most models only by such names.
func inGroup(defined *node, id, model string) string {
	region := defined.get(id, "options", "region").text()
	if id != "amazon-bedrock" || cloudKind(defined, id) != "bedrock" || grouped().MatchString(model) {
		return model
	}
	group := ""
	switch of, _, _ := strings.Cut(region, "-"); {
	case of == "us" && !strings.HasPrefix(region, "us-gov"):
		group = "us."
	case slices.Contains([]string{"eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "eu-central-1", "eu-south-1", "eu-south-2"}, region):
		group = "eu."
	case (region == "ap-southeast-2" || region == "ap-southeast-4") && (strings.Contains(model, "claude-sonnet-4-5") || strings.Contains(model, "claude-haiku")):
		group = "au."
	case region == "ap-northeast-1":
		group = "jp."
	case of == "ap":
		group = "apac."
	}
	return group + model
}

// valueForm is that of regions and projects in manifests. They are compiled when they are used.
var valueForm = map[string]string{
	"region":  `^[a-z]{2,20}(-[a-z0-9]{1,20}){0,4}$`,
	"project": `^([a-z0-9.-]{1,100}:)?[a-z0-9-]{1,100}$`,
}

// endpoint is a provider whose options are converted to an entry.
type endpoint struct {
	providers
	id, kind string // kind is that of cloudKind
	options  *node
	entry    mapping
}

// cloud converts the region and project of a provider that a cloud serves.
func (c endpoint) cloud() {
	id, o := c.id, c.options
	if c.kind == "vertex" {
		c.value("project", "project", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
		c.value("location", "region", "CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION")
		return
	}
	c.value("region", "region", "AWS_REGION", "AWS_DEFAULT_REGION")
	if p := o.get("profile"); p.text() != "" {
		c.note(p, "provider %s: profile not converted: set AWS_PROFILE=%s", id, p.text())
	}
	if p := o.get("region"); id == "amazon-bedrock" && (p.text() == "" || variable().MatchString(p.text())) {
		c.note(p.or(c.defined.get(id)), "provider %s: OpenCode adds the group of the region to names of models; write it, such as us. or eu., if the model lacks it", id)
	}
}

// value converts a region or project, unless it is that of a variable which millhand reads, too.
func (c endpoint) value(from, to string, read ...string) {
	id, v := c.id, c.options.get(from)
	m := variable().FindStringSubmatch(v.text())
	switch {
	case v.text() == "", m != nil && slices.Contains(read, m[1]):
	case m != nil:
		c.note(v, "provider %s: write the value of %s as %s", id, m[1], to)
	case regexp.MustCompile(valueForm[to]).MatchString(v.text()):
		c.entry.set(to, text(v.text()), "")
	default:
		c.note(v, "provider %s: invalid options.%s %q", id, from, v.text())
	}
}

// ownHost matches hosts of the clouds, which get their credentials without login.
var ownHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.(amazonaws\.(com(\.cn)?|eu)|googleapis\.com)$`) })

// address converts the address of a provider.
func (c endpoint) address(at *node) {
	id, kind := c.id, c.kind
	u, err := url.Parse(at.text())
	m := variable().FindStringSubmatch(at.text())
	switch {
	case m != nil:
		c.note(at, "provider %s: write the URL that %s has as base_url", id, m[1])
		return
	case at.text() == "":
		return
	case kind != "" && (err != nil || !slices.Contains([]string{"", "v1"}, strings.Trim(u.Path, "/"))):
		c.note(at, "provider %s: base URL not converted: that of kind %s must not have a path", id, kind)
		return
	case kind != "" && !ownHost().MatchString(u.Host) && c.options.get("apiKey").text() == "":
		c.note(at, "provider %s: credentials of the cloud are sent to this address only with login: {}; write that, or key_env", id)
	}
	c.entry.set("base_url", text(at.text()), "")
}
