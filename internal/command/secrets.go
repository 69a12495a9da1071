package command

import (
	"encoding/json"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/tasks"
)

// secrets are the keys and tokens that this process holds: nothing that is
// written, shown or given to a model may have them in it.
func secrets(getenv func(string) string, plan *tasks.Plan) *redact.Redactor {
	variables := []string{
		"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_PASSPHRASE", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN",
		"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
	}
	for _, name := range provider.Names() {
		if kind, ok := provider.Lookup(name); ok {
			variables = append(variables, kind.KeyEnv...)
		}
	}
	var values []string
	if plan != nil {
		variables = append(variables, plan.Search.KeyEnv)
		for _, p := range plan.Providers {
			variables = append(variables, p.KeyEnv)
			for name, value := range p.Headers {
				if !slices.Contains([]string{"accept", "content-type", "user-agent"}, name) {
					values = append(values, value)
				}
			}
		}
	}
	for _, name := range variables {
		if name != "" {
			values = append(values, getenv(name))
		}
	}
	return redact.New(values)
}

// withoutSecrets passes events on with the secrets taken out of all their
// texts.
func withoutSecrets(r *redact.Redactor, emit func(event.Event)) func(event.Event) {
	if r == nil {
		return emit
	}
	return func(e event.Event) {
		text, err := json.Marshal(e)
		if err != nil || !r.In(string(text)) {
			emit(e)
			return
		}
		var clean event.Event
		if json.Unmarshal([]byte(r.Text(string(text))), &clean) == nil {
			emit(clean)
		}
	}
}
