package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

// secrets returns a redactor of the keys and tokens of this process: they must not
// appear in files, in the log or in requests. The plan may be nil; more has secrets
// found elsewhere.
func secrets(w World, plan *tasks.Plan, more []string) *redact.Redactor {
	variables := []string{
		"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_PASSPHRASE", signing.PassphraseVariable, "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN",
		"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "NATS_TOKEN",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD", "IDENTITY_HEADER", "MSI_SECRET",
	}
	for _, name := range kinds.Names() {
		if kind, ok := provider.Lookup(name); ok {
			variables = append(variables, kind.KeyEnv...)
		}
	}
	values := slices.Concat(w.Secrets, telemetryHeaders(w), more)
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

// cleaned redacts a text. JSON stays valid.
func cleaned(r *redact.Redactor, text string) string {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return string(r.JSON([]byte(text)))
	}
	return r.Text(text)
}

// withoutSecrets returns a function that redacts events before it emits them.
func withoutSecrets(r *redact.Redactor, emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		text, err := json.Marshal(e)
		if err != nil {
			emit(e) // it can't be written either
			return
		}
		if found := r.JSON(text); &found[0] != &text[0] {
			e = decoded(e, found)
		}
		emit(e)
	}
}

// decoded returns the event that e is after redaction, from its JSON text.
func decoded(e event.Event, text []byte) event.Event {
	var clean event.Event
	if err := json.Unmarshal(text, &clean); err != nil {
		return event.Event{Type: event.WarningIssued, Job: e.Job, Warning: &event.Warning{Message: "dropped an event of type " + string(e.Type) + ": a secret in it can't be redacted"}}
	}
	return clean
}
