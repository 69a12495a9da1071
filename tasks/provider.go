package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

const (
	maxHeaders = 50 // headers or query parameters of a provider
)

// provider is an endpoint as a manifest has it, its headers and parameters
// before their variables are filled in.
type provider struct {
	Provider
	headers []template // each named by its key
	query   []template
	models  []modelFacts

	command   program
	ttl       time.Duration
	tokenFile string
}

var (
	providersForm  = mapOf("NAME", typeOf((*provider).keys), readProviders)
	baseURLForm    = form[string]{Type{Name: "string"}, readBaseURL}
	keyEnvForm     = form[string]{Type{Name: "string"}, readVariable}
	headersForm    = mapOf("NAME", scalarType(), readHeaders)
	parametersForm = mapOf("NAME", scalarType(), readParameters)
)

// readProviders reads the endpoints that a manifest adds or changes.
func readProviders(v value) ([]definition[provider], bool) {
	var all []definition[provider]
	entries, ok := v.definitions()
	for _, e := range entries {
		name := e.key.Value
		switch {
		case fileKind(name) != "":
			e.keyProblem(fmt.Sprintf("the provider name %s is reserved for model files", problem.Quote(name)), "choose another name")
		case !idForm.MatchString(name):
			e.keyProblem(problem.Quote(name)+" is not a name", "use letters, digits, ., _ and -")
		default:
			p := readProvider(e, name)
			content := digest(p.Provider, spelled(p.headers), spelled(p.query))
			if len(p.Models) > 0 {
				content = digest(content, p.Models)
			}
			all = append(all, definition[provider]{value: e, title: "provider " + problem.Quote(name), digest: content, is: p})
		}
	}
	return all, ok
}

// readProvider reads one endpoint.
func readProvider(v value, name string) provider {
	var p provider
	if v.refused(policy.Endpoints, "a provider's endpoint", name) {
		return p
	}
	v.refused(policy.Providers, "the provider "+problem.Quote(name), name)
	got := p.keys().read(v)
	for _, m := range p.models {
		if p.Models == nil {
			p.Models = map[string]ModelFacts{}
		}
		p.Models[m.name] = m.ModelFacts
	}
	refuseKind(got["kind"], p.Kind, name, p.BaseURL)
	checkCloud(got, name, cmp.Or(p.Kind, name))
	for _, key := range []string{"kind", "base_url"} {
		if key == "base_url" && slices.Contains(cloudKinds[p.Kind], "region") { // which decides
			continue
		}
		if _, ok := got[key]; !ok && v.isMapping() && !slices.Contains(supportedProviders(), name) {
			v.lacks(key, "write {kind: openai, base_url: https://HOST/v1}")
		}
	}
	p.readKeySource(v, got)
	for _, secret := range append(p.secretHeaders(), p.secretQuery()...) {
		if secret.literal() {
			secret.keyProblem(problem.Quote(secret.key.Value)+" contains a key in plain text", "write ${{ env.NAME }}, or name the variable of the key with key_env:")
		}
	}
	if p.exposed() {
		v.keyProblem(fmt.Sprintf("the key of provider %s would be sent unencrypted", problem.Quote(name)), "write base_url: https://...")
	}
	return p
}

// refuseKind records that a policy refuses the provider that a kind is, or else it could be called an
// allowed one. Kind openai has no server of its own, and responses has OpenAI's without a base URL.
func refuseKind(v value, kind, name, baseURL string) {
	of := kind
	if kind == "responses" && baseURL == "" && name != "azure" {
		of = "openai"
	}
	if kind == "" || kind == "openai" || of == "responses" || of == name {
		return
	}
	if bound := v.src.policies; baseURL == "" && !bound.States(policy.Providers) {
		v.refused(policy.Models, "the provider "+problem.Quote(of), of+"/")
		return
	}
	v.refused(policy.Providers, "the provider "+problem.Quote(of), of)
}

// readKeySource checks and resolves where changing keys come from. Commands run outside of
// the sandbox, and files can be any secret: policies have to list them.
func (p *provider) readKeySource(v value, got map[string]value) {
	oneSource(got, "key_env", "key_command", "token_file", "login")
	p.Key = readKeyCommand(got, p.command, p.ttl, v.src.dir)
	if p.tokenFile != "" && len(p.command.args) == 0 {
		if path := resolvePath(v.src.dir, p.tokenFile); !got["token_file"].refusedKeySource("a file with a key", path) {
			v.uses().key(got["token_file"], p.tokenFile)
			p.Key = &KeySource{File: path}
		}
	}
}

// secretForm matches the names of headers and parameters that bear keys.
var secretForm = regexp.MustCompile(`(?i)authorization|api.?key|token|secret|^cookie$|^key$`)

func (p provider) secretHeaders() []template { return secretly(p.headers) }
func (p provider) secretQuery() []template   { return secretly(p.query) }

func secretly(all []template) []template {
	return slices.DeleteFunc(slices.Clone(all), func(t template) bool { return !secretForm.MatchString(t.key.Value) })
}

// literal reports whether a template has no variables.
func (t template) literal() bool {
	return !slices.ContainsFunc(t.segments, func(s segment) bool { return s.variable != "" })
}

// exposed reports whether a key would be sent without encryption beyond this
// machine and the networks around it.
func (p provider) exposed() bool {
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
	dot := strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')
	return dot < 0 || slices.Contains([]string{"localhost", "local", "internal", "lan", "test"}, strings.ToLower(host[dot+1:]))
}

// readAddress reads an http or https URL. What it holds is not repeated in a
// message, as it may be a secret.
func readAddress(v value) (*url.URL, bool) {
	t, ok := v.filled()
	if !ok {
		return nil, false
	}
	u, err := url.Parse(t.s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(t.s, " \t\r\n{}"):
		v.problem(v.name+" is not an http or https URL", "write for example https://HOST/v1")
	case u.User != nil:
		v.problem(v.name+" must not contain credentials", "remove them, and name the variable with the key in key_env:")
	default:
		return u, true
	}
	return nil, false
}

// readBaseURL reads what the paths of a wire are put behind.
func readBaseURL(v value) (string, bool) {
	u, ok := readAddress(v)
	if ok {
		v.refused(policy.Hosts, "the host "+problem.Quote(u.Host), withPort(u.Scheme, u.Host))
	}
	if bound := v.src.policies; ok && !bound.States(policy.Hosts) { // or else any endpoint could be called an allowed one
		for _, key := range []policy.Key{policy.Providers, policy.Models} {
			if bound.States(key) {
				v.refused(key, "an endpoint of the manifest's own")
			}
		}
	}
	if ok && (u.RawQuery != "" || u.ForceQuery || strings.Contains(v.node.Value, "#")) {
		v.problem(v.name+" must not contain a query or fragment", "write parameters under query:")
		ok = false
	}
	return v.node.Value, ok
}

// readVariable reads the name of an environment variable.
func readVariable(v value) (string, bool) {
	t, ok := v.filled()
	if ok && !envName.MatchString(t.s) {
		v.problem(v.name+" must be the name of an environment variable", "write the name alone, such as EXAMPLE_API_KEY, and never the key")
		return "", false
	}
	if ok {
		v.refused(policy.Env, "the environment variable "+t.s, t.s)
		v.uses().variable(t.s)
	}
	return t.s, ok
}

// ownHeaders are those that every request has already.
var ownHeaders = []string{"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"}

// headerForm is the token of RFC 9110, section 5.6.2.
var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func readHeaders(v value) ([]template, bool) {
	all, ok := readParameters(v)
	for _, t := range all {
		switch name := t.key.Value; {
		case !headerForm.MatchString(name):
			t.keyProblem("invalid header name "+problem.Quote(name), "write for example X-Team")
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			t.keyProblem("header "+problem.Quote(name)+" is set by millhand", "remove it")
		}
	}
	return all, ok
}

// readParameters reads a mapping from names to texts with variables.
func readParameters(v value) ([]template, bool) {
	var all []template
	entries, ok := v.entries()
	for _, e := range entries {
		if t, ok := e.scalar(); ok {
			all = append(all, parseTemplate(t))
		}
	}
	if len(entries) > maxHeaders {
		v.problem(fmt.Sprintf("%s has more than %d entries", v.name, maxHeaders), "make it shorter")
		return nil, false
	}
	return all, ok
}

// spelled returns templates by their keys as they are written, without values of
// the environment.
func spelled(all []template) map[string]string {
	out := map[string]string{}
	for _, t := range all {
		out[t.key.Value] = t.s
	}
	return out
}

// defineProviders resolves the endpoints of all manifests.
func (b *builder) defineProviders() {
	b.endpoints = gather(b.manifests, func(m *manifest) []definition[provider] { return m.providers })
	b.providers = map[string]Provider{}
	for _, d := range b.endpoints {
		p := d.is.Provider
		p.Headers, p.Query = b.filledIn(d.is.headers), b.filledIn(d.is.query)
		for _, m := range d.is.models {
			b.checkFacts(d.key.Value, m)
		}
		b.providers[d.key.Value] = p
	}
	b.providerNames = slices.Sorted(maps.Keys(b.providers))
}

// filledIn fills in texts that are the same for all jobs; nil for none.
func (b *builder) filledIn(all []template) map[string]string {
	if len(all) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, t := range all {
		s := b.fromEnv(t)
		if strings.ContainsAny(s, "\r\n\x00") {
			t.problem(t.name+" contains a line break after its variables are filled in", "write one line")
		}
		out[t.key.Value] = s
	}
	return out
}

// fromEnv fills in a text that is the same for all jobs: it knows no variables
// but those of the environment.
func (b *builder) fromEnv(t template) string {
	for _, p := range t.segments {
		if p.variable != "" && !strings.HasPrefix(p.variable, "env.") {
			t.unknown(p, fmt.Sprintf("the variable %s is not known here", problem.Quote(p.variable)), "write ${{ env.NAME }}: this text is the same for all jobs")
			return ""
		}
	}
	out, _ := t.render(scope{getenv: b.options.Getenv})
	return out
}

func (p *provider) keys() keys {
	return keys{
		{"kind", into(&p.Kind, enum(kinds.Endpoints()...)), "", "Protocol: openai (Chat Completions), responses, anthropic, or a known provider (required for a new provider)"},
		{"base_url", into(&p.BaseURL, baseURLForm), "", "URL before the paths of the protocol (required for a new provider)"},
		{"key_env", into(&p.KeyEnv, keyEnvForm), "", "Environment variable with the API key"},
		{"key_command", into(&p.command, argvForm), "", "Command that prints the API key or token; runs outside of the sandbox before the first request, and again after a 401"},
		{"ttl", into(&p.ttl, durationForm), "", "How long a key of key_command is used (until the provider rejects it)"},
		{"token_file", into(&p.tokenFile, stringForm), "", "File with the API key or token, read for each request"},
		{"headers", into(&p.headers, headersForm), "", "HTTP headers of each request; may contain ${{ env.NAME }}"},
		{"query", into(&p.query, parametersForm), "", "Query parameters of each request; may contain ${{ env.NAME }}"},
		{"region", into(&p.Region, regionForm), "", "Region of kind bedrock or vertex (AWS_REGION or CLOUD_ML_REGION if absent)"},
		{"project", into(&p.Project, projectForm), "", "Google Cloud project of kind vertex (ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT if absent)"},
		{"login", into(&p.Login, loginForm), "", "Login to the cloud instead of a key; {} for the cloud's usual credentials"},
		{"models", into(&p.models, factsForm), "", "What the provider's models are and cost, by name"},
		{"timeouts", into(&p.Timeouts, mapping((*Timeouts).keys)), "", "Limits of the wait for a response"},
		{"retry", into(&p.Retry, mapping((*Retry).keys)), "", "How long jobs wait for the provider while it is down"},
	}
}

func (t *Timeouts) keys() keys {
	return keys{
		{"header", into(&t.Header, durationForm), "", "Wait until a response starts (5m; 10m for ollama, vllm, lmstudio and openai)"},
		{"idle", into(&t.Idle, durationForm), "", "Wait without any data of a response (2m; 10m for ollama, vllm, lmstudio and openai)"},
		{"total", into(&t.Total, durationForm), "", "Duration of a response (1h)"},
	}
}

func (r *Retry) keys() keys {
	return keys{
		{"max_wait", into(&r.MaxWait, durationForm), "", "Longest wait for a provider that is down; then the job ends with exit code 75 (15m)"},
		{"fallback_after", into(&r.FallbackAfter, durationForm), "", "Wait for a provider that is down until the next model of a fallback list is used (1m)"},
	}
}
