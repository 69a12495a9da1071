package manifest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

const (
	maxHeaders = 50 // headers or query parameters of a provider
)

// Provider is an endpoint as a manifest has it, its headers and parameters
// before their variables are filled in.
type Provider struct {
	tasks.Provider
	HeaderTexts []template.Template // each named by its key
	QueryTexts  []template.Template
	Facts       []ModelFacts

	command   programs.Command
	ttl       time.Duration
	tokenFile string
}

var (
	providersForm  = form.MapOf("NAME", form.TypeOf((*Provider).keys), readProviders)
	baseURLForm    = form.Of[string]{Type: form.Type{Name: "string"}, Read: readBaseURL}
	headersForm    = form.MapOf("NAME", form.ScalarType(), readHeaders)
	parametersForm = form.MapOf("NAME", form.ScalarType(), readParameters)
)

// readProviders reads the endpoints that a manifest adds or changes.
func readProviders(v form.Value) ([]form.Definition[Provider], bool) {
	var all []form.Definition[Provider]
	entries, ok := v.Definitions()
	for _, e := range entries {
		name := e.Key.Value
		switch {
		case FileKind(name) != "":
			e.KeyProblem(fmt.Sprintf("the provider name %s is reserved for model files", problem.Quote(name)), "choose another name")
		case !form.Identifier.MatchString(name):
			e.KeyProblem(problem.Quote(name)+" is not a name", "use letters, digits, ., _ and -")
		default:
			p := readProvider(e, name)
			content := tasks.Digest(p.written(), spelled(p.HeaderTexts), spelled(p.QueryTexts))
			if len(p.Models) > 0 {
				content = tasks.Digest(content, p.Models)
			}
			all = append(all, form.Definition[Provider]{Value: e, Title: "provider " + problem.Quote(name), Digest: content, Paths: keyPaths(p.Key), Is: p})
		}
	}
	return all, ok
}

// written returns the provider without paths of this machine: workers and resumed runs compare its digest.
func (p Provider) written() tasks.Provider {
	p.Key = writtenKey(p.Key, p.command, p.tokenFile)
	return p.Provider
}

// readProvider reads one endpoint.
func readProvider(v form.Value, name string) Provider {
	var p Provider
	if v.Refused(policy.Endpoints, "a provider's endpoint", name) {
		return p
	}
	v.Refused(policy.Providers, "the provider "+problem.Quote(name), name)
	got := p.keys().Read(v)
	for _, m := range p.Facts {
		if p.Models == nil {
			p.Models = map[string]tasks.ModelFacts{}
		}
		p.Models[m.Name] = m.ModelFacts
	}
	refuseKind(got["kind"], p.Kind, name, p.BaseURL)
	checkCloud(got, name, cmp.Or(p.Kind, name))
	for _, key := range []string{"kind", "base_url"} {
		if key == "base_url" && slices.Contains(cloudKinds[p.Kind], "region") { // which decides
			continue
		}
		if _, ok := got[key]; !ok && v.IsMapping() && !slices.Contains(SupportedProviders(), name) {
			v.Lacks(key, "write {kind: openai, base_url: https://HOST/v1}")
		}
	}
	p.readKeySource(v, got)
	for _, secret := range append(p.secretHeaders(), p.secretQuery()...) {
		if secret.Literal() {
			secret.KeyProblem(problem.Quote(secret.Key.Value)+" contains a key in plain text", "write ${{ env.NAME }}, or name the variable of the key with key_env:")
		}
	}
	if p.exposed() {
		v.KeyProblem(fmt.Sprintf("the key of provider %s would be sent unencrypted", problem.Quote(name)), "write base_url: https://...")
	}
	return p
}

// refuseKind records that a policy refuses the provider that a kind is, or else it could be called an
// allowed one. Kind openai has no server of its own, and responses has OpenAI's without a base URL.
func refuseKind(v form.Value, kind, name, baseURL string) {
	of := kind
	if kind == "responses" && baseURL == "" && name != "azure" {
		of = "openai"
	}
	if kind == "" || kind == "openai" || of == "responses" || of == name {
		return
	}
	if bound := v.Src.Policies; baseURL == "" && !bound.States(policy.Providers) {
		v.Refused(policy.Models, "the provider "+problem.Quote(of), of+"/")
		return
	}
	v.Refused(policy.Providers, "the provider "+problem.Quote(of), of)
}

// readKeySource checks and resolves where changing keys come from. Commands run outside of
// the sandbox, and files can be any secret: policies have to list them.
func (p *Provider) readKeySource(v form.Value, got map[string]form.Value) {
	oneSource(got, "key_env", "key_command", "token_file", "login")
	p.Key = readKeyCommand(got, p.command, p.ttl, v.Src.Dir)
	if p.tokenFile != "" && len(p.command.Args) == 0 {
		if path := userfile.Resolve(v.Src.Dir, p.tokenFile); !got["token_file"].RefusedKeySource("a file with a key", path) {
			v.Uses().Key(got["token_file"], p.tokenFile)
			p.Key = &tasks.KeySource{File: path}
		}
	}
}

// secretForm matches the names of headers and parameters that bear keys.
var secretForm = regexp.MustCompile(`(?i)authorization|api.?key|token|secret|^cookie$|^key$`)

func (p Provider) secretHeaders() []template.Template { return secretly(p.HeaderTexts) }
func (p Provider) secretQuery() []template.Template   { return secretly(p.QueryTexts) }

func secretly(all []template.Template) []template.Template {
	return slices.DeleteFunc(slices.Clone(all), func(t template.Template) bool { return !secretForm.MatchString(t.Key.Value) })
}

// exposed reports whether a key would be sent without encryption beyond this
// machine and the networks around it.
func (p Provider) exposed() bool {
	u, err := url.Parse(p.BaseURL)
	keyed := p.KeyEnv != "" || p.Login != nil || p.Key != nil || len(p.secretHeaders())+len(p.secretQuery()) > 0
	return err == nil && u.Scheme == "http" && keyed && !private(u.Hostname())
}

// private reports whether a host is one that is not on the Internet: by its
// address, or by a name of those that are not given out there.
func private(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.TrimSuffix(host, ".")
	dot := strings.LastIndexByte(host, '.')
	return dot < 0 || slices.Contains([]string{"localhost", "local", "internal", "lan", "test"}, strings.ToLower(host[dot+1:]))
}

// readAddress reads an http or https URL. What it holds is not repeated in a
// message, as it may be a secret.
func readAddress(v form.Value) (*url.URL, bool) {
	t, ok := v.Filled()
	if !ok {
		return nil, false
	}
	u, err := url.Parse(t.S)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(t.S, " \t\r\n{}"):
		v.Problem(v.Label+" is not an http or https URL", "write for example https://HOST/v1")
	case u.User != nil:
		v.Problem(v.Label+" must not contain credentials", "remove them, and name the variable with the key in key_env:")
	default:
		return u, true
	}
	return nil, false
}

// readBaseURL reads what the paths of a wire are put behind.
func readBaseURL(v form.Value) (string, bool) {
	u, ok := readAddress(v)
	if ok {
		v.Refused(policy.Hosts, "the host "+problem.Quote(u.Host), reach.WithPort(u.Scheme, u.Host))
	}
	if bound := v.Src.Policies; ok && !bound.States(policy.Hosts) { // or else any endpoint could be called an allowed one
		for _, key := range []policy.Key{policy.Providers, policy.Models} {
			if bound.States(key) {
				v.Refused(key, "an endpoint of the manifest's own")
			}
		}
	}
	if ok && (u.RawQuery != "" || u.ForceQuery || strings.Contains(v.Node.Value, "#")) {
		v.Problem(v.Label+" must not contain a query or fragment", "write parameters under query:")
		ok = false
	}
	return v.Node.Value, ok
}

// ownHeaders are those that every request has already.
var ownHeaders = []string{"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"}

// headerForm is the token of RFC 9110, section 5.6.2.
var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func readHeaders(v form.Value) ([]template.Template, bool) {
	all, ok := readParameters(v)
	for _, t := range all {
		switch name := t.Key.Value; {
		case !headerForm.MatchString(name):
			t.KeyProblem("invalid header name "+problem.Quote(name), "write for example X-Team")
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			t.KeyProblem("header "+problem.Quote(name)+" is set by millhand", "remove it")
		}
	}
	return all, ok
}

// readParameters reads a mapping from names to texts with variables.
func readParameters(v form.Value) ([]template.Template, bool) {
	var all []template.Template
	entries, ok := v.Entries()
	for _, e := range entries {
		if t, ok := e.Scalar(); ok {
			all = append(all, template.ParseTemplate(t))
		}
	}
	if len(entries) > maxHeaders {
		v.Problem(fmt.Sprintf("%s has more than %d entries", v.Label, maxHeaders), "make it shorter")
		return nil, false
	}
	return all, ok
}

// spelled returns templates by their keys as they are written, without values of
// the environment.
func spelled(all []template.Template) map[string]string {
	out := map[string]string{}
	for _, t := range all {
		out[t.Key.Value] = t.S
	}
	return out
}

func (p *Provider) keys() form.Table {
	return form.Table{
		{Name: "kind", Field: form.Into(&p.Kind, form.Enum(kinds.Endpoints()...)), Doc: "Protocol: openai (Chat Completions), responses, anthropic, or a known provider (required for a new provider)"},
		{Name: "base_url", Field: form.Into(&p.BaseURL, baseURLForm), Doc: "URL before the paths of the protocol (required for a new provider)"},
		{Name: "key_env", Field: form.Into(&p.KeyEnv, programs.Variable), Doc: "Environment variable with the API key"},
		{Name: "key_command", Field: form.Into(&p.command, programs.Argv), Doc: "Command that prints the API key or token; runs outside of the sandbox before the first request, and again after a 401"},
		{Name: "ttl", Field: form.Into(&p.ttl, form.Duration), Doc: "How long a key of key_command is used (until the provider rejects it)"},
		{Name: "token_file", Field: form.Into(&p.tokenFile, form.String), Doc: "File with the API key or token, read for each request"},
		{Name: "headers", Field: form.Into(&p.HeaderTexts, headersForm), Doc: "HTTP headers of each request; may contain ${{ env.NAME }}"},
		{Name: "query", Field: form.Into(&p.QueryTexts, parametersForm), Doc: "Query parameters of each request; may contain ${{ env.NAME }}"},
		{Name: "region", Field: form.Into(&p.Region, regionForm), Doc: "Region of kind bedrock or vertex (AWS_REGION or CLOUD_ML_REGION if absent)"},
		{Name: "project", Field: form.Into(&p.Project, projectForm), Doc: "Google Cloud project of kind vertex (ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT if absent)"},
		{Name: "login", Field: form.Into(&p.Login, loginForm), Doc: "Login to the cloud instead of a key; {} for the cloud's usual credentials"},
		{Name: "models", Field: form.Into(&p.Facts, factsForm), Doc: "What the provider's models are and cost, by name"},
		{Name: "timeouts", Field: form.Into(&p.Timeouts, form.Mapping(timeoutKeys)), Doc: "Limits of the wait for a response"},
		{Name: "retry", Field: form.Into(&p.Retry, form.Mapping(retryKeys)), Doc: "How long jobs wait for the provider while it is down"},
	}
}

func timeoutKeys(t *tasks.Timeouts) form.Table {
	return form.Table{
		{Name: "header", Field: form.Into(&t.Header, form.Duration), Doc: "Wait until a response starts (5m; 10m for ollama, vllm, lmstudio and openai)"},
		{Name: "idle", Field: form.Into(&t.Idle, form.Duration), Doc: "Wait without any data of a response (2m; 10m for ollama, vllm, lmstudio and openai)"},
		{Name: "total", Field: form.Into(&t.Total, form.Duration), Doc: "Duration of a response (1h)"},
	}
}

func retryKeys(r *tasks.Retry) form.Table {
	return form.Table{
		{Name: "max_wait", Field: form.Into(&r.MaxWait, form.Duration), Doc: "Longest wait for a provider that is down; then the job ends with exit code 75 (15m)"},
		{Name: "fallback_after", Field: form.Into(&r.FallbackAfter, form.Duration), Doc: "Wait for a provider that is down until the next model of a fallback list is used (1m)"},
	}
}
