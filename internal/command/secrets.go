package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/tasks"
)

// secrets are the keys and tokens that this process holds: nothing that is
// written, shown or given to a model may have them in it. The plan may be nil;
// more are those that were found elsewhere.
func secrets(w World, plan *tasks.Plan, more []string) *redact.Redactor {
	variables := []string{
		"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_PASSPHRASE", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN",
		"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
	}
	for _, name := range provider.Names() {
		if kind, ok := provider.Lookup(name); ok {
			variables = append(variables, kind.KeyEnv...)
		}
	}
	values := slices.Concat(w.Secrets, more)
	if plan != nil {
		variables = append(variables, plan.Search.KeyEnv)
		for _, p := range plan.Providers {
			variables = append(variables, p.KeyEnv)
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

// withoutScheme is the credentials of a header's value: "Bearer" before them is
// no secret.
func withoutScheme(value string) string {
	if scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " "); ok && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
		return rest
	}
	return value
}

// cleaned takes secrets out of a text that may be JSON, and stays so.
func cleaned(r *redact.Redactor, text string) string {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return string(r.JSON([]byte(text)))
	}
	return r.Text(text)
}

// withoutSecrets passes events on with the secrets taken out of all their
// texts.
func withoutSecrets(r *redact.Redactor, emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		text, err := json.Marshal(e)
		if err != nil {
			emit(e) // it says nothing that could be written either
			return
		}
		var clean event.Event
		if found := r.JSON(text); &found[0] == &text[0] {
			emit(e)
		} else if err := json.Unmarshal(found, &clean); err != nil {
			emit(event.Event{Type: event.WarningGiven, Job: e.Job, Warning: &event.Warning{Message: "an event of type " + string(e.Type) + " held a secret in a place where it can't be taken out, and is left out"}})
		} else {
			emit(clean)
		}
	}
}
