package manifest

import (
	"net/url"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Remote is a remote server while it is read.
type Remote struct {
	url         string
	HeaderTexts []template.Template
	oauth       *tasks.OAuth // nil for none
	OAuthAt     form.Value
}

// The kinds of servers.
const (
	localServer  = "local"
	remoteServer = "remote"
)

var (
	serverURLForm     = form.Of[string]{Type: form.Type{Name: "string"}, Read: readServerURL}
	serverHeadersForm = form.MapOf("NAME", form.ScalarType(), readServerHeaders)
	oauthForm         = form.Of[*tasks.OAuth]{Type: form.Type{Name: "mapping", Keys: func() form.Table { return oauthKeys(new(tasks.OAuth)) }, Or: &form.Bool.Type}, Read: readOAuth}
	scopeForm         = formed(`[!#-\[\]-~]{1,500}`, "tools.read")
)

// checkKind checks that the keys of a server are those of its type.
func (s *MCPServer) checkKind(v form.Value, got map[string]form.Value) {
	needs, example, others, other := "command", "command: [PROGRAM]", []string{"url", "headers", "oauth"}, remoteServer
	if s.kind == remoteServer {
		needs, example, other = "url", "url: https://HOST/mcp", localServer
		others = []string{"command", "environment", "read", "write", "network", "cache"}
	}
	wrong := false
	for _, key := range others {
		if e, ok := got[key]; ok {
			wrong = true
			e.KeyProblem(problem.Quote(key)+" is a key of servers with type: "+other, "remove it, or write type: "+other)
		}
	}
	if _, ok := got[needs]; !ok && !wrong {
		v.Lacks(needs, "add "+example)
	}
	s.WrittenRemote.check(v)
}

// check checks that keys are neither in the manifest nor sent without encryption.
func (r *Remote) check(v form.Value) {
	for _, secret := range secretly(r.HeaderTexts) {
		if secret.Literal() {
			secret.KeyProblem(problem.Quote(secret.Key.Value)+" contains a key in plain text", "write ${{ env.NAME }}")
		}
	}
	if u, err := url.Parse(r.url); err == nil && u.Scheme == "http" && r.oauth != nil && !private(u.Hostname()) {
		v.KeyProblem("the tokens of server "+problem.Quote(v.Key.Value)+" would be sent unencrypted", "write url: https://...")
	}
	if i := slices.IndexFunc(r.HeaderTexts, func(t template.Template) bool { return strings.EqualFold(t.Key.Value, "Authorization") }); i >= 0 && r.oauth != nil {
		r.HeaderTexts[i].KeyProblem("oauth sets this header, too", "remove one of them")
	}
	keyed := slices.ContainsFunc(r.HeaderTexts, func(t template.Template) bool { return !t.Literal() || secretForm.MatchString(t.Key.Value) })
	if u, err := url.Parse(r.url); err == nil && u.Scheme == "http" && keyed && !private(u.Hostname()) {
		v.KeyProblem("the headers of server "+problem.Quote(v.Key.Value)+" would be sent unencrypted", "write url: https://...")
	}
}

// readServerURL reads the URL of a server.
func readServerURL(v form.Value) (string, bool) {
	u, ok := readAddress(v)
	if !ok {
		return "", false
	}
	v.Refused(policy.Hosts, "the host "+problem.Quote(u.Host), reach.WithPort(u.Scheme, u.Host))
	for name := range u.Query() {
		if secretForm.MatchString(name) {
			v.Problem(v.Label+" contains a key", "write it in headers:, as ${{ env.NAME }}")
			return "", false
		}
	}
	if u.Fragment != "" {
		v.Problem(v.Label+" must not contain a fragment", "remove it")
		return "", false
	}
	return v.Node.Value, true
}

// protocolHeaders are those that the protocol sets.
var protocolHeaders = []string{"accept", "mcp-session-id", "mcp-protocol-version", "last-event-id"}

// readServerHeaders reads headers, in which OpenCode's form of variables is replaced.
func readServerHeaders(v form.Value) ([]template.Template, bool) {
	all, ok := readHeaders(v)
	for i, t := range all {
		if slices.Contains(protocolHeaders, strings.ToLower(t.Key.Value)) {
			t.KeyProblem("header "+problem.Quote(t.Key.Value)+" is set by millhand", "remove it")
		}
		t.S = envReference.ReplaceAllString(t.S, "$${{ env.$1 }}")
		all[i] = template.ParseTemplate(t.Text)
	}
	return all, ok
}

// readOAuth reads how tokens for a server are requested; nil for false.
func readOAuth(v form.Value) (*tasks.OAuth, bool) {
	if v.IsScalar() {
		if on, ok := form.ReadBool(v); on || !ok {
			v.Problem("nobody can log in during a run", "write oauth: false, or how a client gets tokens: {token_url: URL, client_id_env: NAME, client_secret_env: NAME}")
			return nil, false
		}
		return nil, true
	}
	var o tasks.OAuth
	oauthKeys(&o).Read(v)
	if u, err := url.Parse(o.TokenURL); err == nil && u.Scheme == "http" && !private(u.Hostname()) {
		v.KeyProblem("the secret of the client would be sent unencrypted", "write token_url: https://...")
	}
	return &o, true
}

func oauthKeys(o *tasks.OAuth) form.Table {
	return form.Table{
		{Name: "token_url", Field: form.Required("token_url: https://HOST/token", form.Into(&o.TokenURL, serverURLForm)), Doc: "Token endpoint of the authorization server (grant client_credentials)"},
		{Name: "client_id_env", Field: form.Required("client_id_env: NAME", form.Into(&o.IDEnv, programs.Variable)), Doc: "Environment variable with the ID of the client"},
		{Name: "client_secret_env", Field: form.Required("client_secret_env: NAME", form.Into(&o.SecretEnv, programs.Variable)), Doc: "Environment variable with the secret of the client"},
		{Name: "scopes", Field: form.Into(&o.Scopes, form.ListOf(scopeForm)), Doc: "Scopes of the tokens (those that the client has if absent)"},
	}
}
