package world

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report/telemetry"
	"github.com/millhand/millhand/tasks"
)

// Redactor returns a redactor of the keys and tokens of this process: they must not
// appear in files, in the log or in requests. The plan may be nil; more has secrets
// found elsewhere.
func (w World) Redactor(plan *tasks.Plan, more ...string) *redact.Redactor {
	variables := []string{
		"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_PASSPHRASE", signing.PassphraseVariable, "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN",
		"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "NATS_TOKEN",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD", "IDENTITY_HEADER", "MSI_SECRET",
	}
	for _, name := range kinds.Names() {
		if kind, ok := kinds.Lookup(name); ok {
			variables = append(variables, kind.KeyEnv...)
		}
	}
	values := slices.Concat(w.Secrets, w.telemetryHeaders(), more)
	if key := w.Getenv(signing.KeyVariable); strings.Contains(key, "PRIVATE KEY") {
		values = append(values, key)
	}
	if plan != nil {
		for _, j := range plan.Jobs {
			variables = append(variables, j.SetupEnv...)
		}
		variables = append(variables, plan.Search.KeyEnv)
		for _, f := range plan.Forges {
			variables = append(variables, f.TokenEnv)
			if f.App != nil && strings.Contains(w.Getenv(f.App.KeyEnv), "PRIVATE KEY") { // else it is a path
				variables = append(variables, f.App.KeyEnv)
			}
		}
		for _, s := range plan.MCP {
			values = append(values, s.Process.Secrets...)
			if s.Remote != nil {
				values = append(values, s.Remote.Secrets...)
			}
		}
		values = append(values, plan.Scripts.Process.Secrets...)
		if plan.LSP != nil {
			for _, s := range plan.LSP.Servers {
				values = append(values, s.Process.Secrets...)
			}
		}
		for _, p := range plan.Providers {
			variables = append(variables, p.KeyEnv)
			if p.Login != nil {
				variables = append(variables, p.Login.TokenEnv)
			}
			for name, value := range p.Headers {
				if !slices.Contains([]string{"accept", "content-type", "user-agent"}, name) {
					values = append(values, withoutScheme(value))
				}
			}
		}
	}
	for _, name := range variables {
		if name != "" {
			values = append(values, w.Getenv(name))
		}
	}
	return redact.New(values)
}

// withoutScheme returns the credentials in a header's value, without a scheme such
// as Bearer, which is not secret.
func withoutScheme(value string) string {
	if scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " "); ok && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
		return rest
	}
	return value
}

// telemetryHeaders returns the credentials that are sent to the endpoints of OpenTelemetry.
func (w World) telemetryHeaders() (values []string) {
	c, _ := telemetry.ReadConfig(w.Getenv)
	for _, h := range c.Headers() {
		if redact.IsSecretName(h[0]) || redact.LooksSecret(h[1]) {
			values = append(values, withoutScheme(h[1]))
		}
	}
	return values
}
