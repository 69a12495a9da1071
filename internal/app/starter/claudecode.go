package starter

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Cloud is a cloud that Claude Code is set up for, by variables of the environment and env of
// .claude/settings.json.
type Cloud struct {
	Model    string   // PROVIDER/MODEL
	Provider string   // bedrock or vertex
	Region   string   // "" if it is unknown
	Project  string   // of vertex
	BaseURL  string   // of the settings: one of the environment is read by a run, too
	Notes    []string // about what a manifest does not have
}

// clouds are the clouds of Claude Code, in its order.
var clouds = []struct {
	use, provider, region, project, base, model string
}{
	{"CLAUDE_CODE_USE_BEDROCK", "bedrock", "AWS_REGION", "", "ANTHROPIC_BEDROCK_BASE_URL", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
	{"CLAUDE_CODE_USE_VERTEX", "vertex", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID", "ANTHROPIC_VERTEX_BASE_URL", "claude-sonnet-4-5@20250929"},
}

// The forms of what is copied to a manifest. They are compiled when they are used.
const (
	modelForm   = `^[A-Za-z0-9]([A-Za-z0-9.:@/_-]{0,300}[A-Za-z0-9])?$`
	regionForm  = `^[a-z]{2,20}(-[a-z0-9]{1,20}){0,4}$`
	projectForm = `^([a-z0-9.-]{1,100}:)?[a-z0-9-]{1,100}$`
	addressForm = `^https?://[A-Za-z0-9.:-]+(/v1)?/?$`
)

// ClaudeCode returns the cloud that Claude Code uses in a repository; false if it uses none.
// Settings go before the environment, and those of a person before the project's.
func ClaudeCode(root *os.Root, getenv func(string) string) (Cloud, bool) {
	settings := settingsOf(root)
	get := func(name string) string {
		if value, ok := settings[name]; ok {
			return strings.TrimSpace(value)
		}
		return strings.TrimSpace(getenv(name))
	}
	for _, of := range clouds {
		if !slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(get(of.use))) {
			continue
		}
		c := Cloud{Provider: of.provider}
		c.Region = c.formed(of.region, get(of.region), regionForm)
		if of.project != "" {
			c.Project = c.formed(of.project, get(of.project), projectForm)
		}
		c.BaseURL = c.formed(of.base, settings[of.base], addressForm)
		c.Model = of.provider + "/" + c.model(get, of.model)
		c.note(settings)
		return c, true
	}
	return Cloud{}, false
}

// settingsOf returns the variables of the settings in a repository.
func settingsOf(root *os.Root) map[string]string {
	all := map[string]string{}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		var s struct {
			Env   map[string]string
			Model string
		}
		if json.Unmarshal([]byte(read(root, name)), &s) != nil {
			continue
		}
		if s.Model != "" {
			all["model"] = s.Model
		}
		maps.Copy(all, s.Env)
	}
	return all
}

// formed returns a value if it has the form of a manifest's, and notes it otherwise.
func (c *Cloud) formed(variable, value, form string) string {
	if value == "" || regexp.MustCompile(form).MatchString(value) {
		return value
	}
	c.Notes = append(c.Notes, variable+" not converted: invalid value") // it may contain a secret
	return ""
}

// model returns the name of the model at the cloud. Claude Code has aliases, whose models variables can name.
func (c *Cloud) model(get func(string) string, otherwise string) string {
	name, long := strings.CutSuffix(get("ANTHROPIC_MODEL"), "[1m]")
	if name == "" {
		name, long = strings.CutSuffix(get("model"), "[1m]")
	}
	if long {
		c.Notes = append(c.Notes, "the window of a million tokens, [1m], not converted")
	}
	alias := name
	switch name {
	case "", "default", "opusplan":
		alias = "sonnet"
	}
	if slices.Contains([]string{"sonnet", "opus", "haiku"}, alias) {
		variable := "ANTHROPIC_DEFAULT_" + strings.ToUpper(alias) + "_MODEL"
		if name, _ = strings.CutSuffix(get(variable), "[1m]"); name == "" && alias == "haiku" {
			name = get("ANTHROPIC_SMALL_FAST_MODEL")
		}
		if name == "" && alias != "sonnet" {
			c.Notes = append(c.Notes, fmt.Sprintf("model %s not converted: write the cloud's name of the model, or set %s", alias, variable))
		}
	} else if small := get("ANTHROPIC_SMALL_FAST_MODEL"); small != "" {
		c.Notes = append(c.Notes, "ANTHROPIC_SMALL_FAST_MODEL not converted: a session has one model; agents can have others")
	}
	if name = c.formed("the model", name, modelForm); name == "" {
		return otherwise
	}
	return name
}

// note adds notes about settings that the environment of a run must have. Keys are never copied.
func (c *Cloud) note(settings map[string]string) {
	for _, variable := range []string{"AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"} {
		if settings[variable] != "" {
			c.Notes = append(c.Notes, variable+" not converted: set it in the environment")
		}
	}
	for _, variable := range []string{"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_CUSTOM_HEADERS"} {
		if settings[variable] != "" {
			c.Notes = append(c.Notes, variable+" not converted: write the gateway's key and headers as key_env and headers of the provider")
		}
	}
	if c.BaseURL != "" {
		c.Notes = append(c.Notes, "credentials of the cloud are sent to base_url only with login: {}, unless it is the cloud's own host; write that, or key_env")
	}
}

// Keys returns the provider's entry of a manifest, in one line; "" if it needs none.
func (c Cloud) Keys() string {
	var keys []string
	for _, k := range []struct{ name, value string }{{"region", c.Region}, {"project", c.Project}, {"base_url", c.BaseURL}} {
		if k.value != "" {
			keys = append(keys, fmt.Sprintf("%s: %q", k.name, k.value))
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("providers:\n  %s: {%s}\n", c.Provider, strings.Join(keys, ", "))
}
