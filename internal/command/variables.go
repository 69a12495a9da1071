package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/tasks/problem"
)

// variableDoc documents environment variables that set no flag.
type variableDoc struct {
	names []string
	text  string // Markdown, one sentence
}

// variableDocs returns the variables that commands read, except those of flags and of
// model providers, and those that describe a CI's job.
func variableDocs() []variableDoc {
	return []variableDoc{
		{[]string{"MILLHAND_POLICY"}, "Policy file that applies in addition to those of --policy."},
		{[]string{"MILLHAND_CACHE_DIR"}, "Directory of mirrors of repositories and downloaded prices (default: millhand in XDG_CACHE_HOME or ~/.cache)."},
		{[]string{"XDG_STATE_HOME"}, "Directory of the state of daily budgets, in millhand (default: ~/.local/state)."},
		{[]string{"TMPDIR"}, "Directory of temporary files."},
		{[]string{"MILLHAND_GIT_TOKEN"}, "Token for git servers over https."},
		{[]string{"MILLHAND_GIT_HOSTS"}, "Servers that get MILLHAND_GIT_TOKEN, separated by commas."},
		{[]string{"GITHUB_TOKEN", "GH_TOKEN"}, "Token for GitHub."},
		{[]string{"GITLAB_TOKEN", "CI_JOB_TOKEN"}, "Token for GitLab."},
		{[]string{"GITEA_TOKEN"}, "Token for Gitea."},
		{[]string{"MILLHAND_GITHUB_APP_ID", "MILLHAND_GITHUB_APP_KEY"}, "GitHub App whose installations have the tokens: its ID, and its private key or the path of it."},
		{[]string{"MILLHAND_SSH_KEY", "MILLHAND_SSH_PASSPHRASE", "SSH_AUTH_SOCK"}, "Key file for git over ssh, its passphrase, and the agent that has keys."},
		{[]string{"MILLHAND_KNOWN_HOSTS"}, "Host keys of ssh servers (default: ~/.ssh/known_hosts)."},
		{[]string{"NATS_TOKEN"}, "Token for the NATS server of a queue."},
		{[]string{signing.KeyVariable, signing.PassphraseVariable}, "Key that signs commits and evidence, as a path or text, and its passphrase."},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT"}, "Collector that gets spans and metrics; docs/reports.md lists the other variables of OpenTelemetry."},
		{[]string{"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}, "Committer of signed commits, if both are set."},
		{[]string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"}, "Proxy for requests to models, forges and git servers."},
		{[]string{"SSL_CERT_FILE", "SSL_CERT_DIR"}, "Certificates of trusted authorities."},
		{[]string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"}, "Print no colours, or print them also where the output is not a terminal."},
		{[]string{"PAGER"}, "Program that shows conversations on a terminal (default: less)."},
	}
}

// noVariable is EnvVars of a flag that no environment variable can set.
func noVariable() []string { return []string{} }

// variable returns the name of the environment variable that sets a flag. An empty
// variable doesn't, because a CI passes omitted inputs as empty variables. EnvVars has none of these names,
// because the library would read the environment of the process.
func variable(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	switch {
	case ok && len(d.GetEnvVars()) > 0:
		return d.GetEnvVars()[0]
	case ok && d.GetEnvVars() != nil:
		return ""
	}
	return "MILLHAND_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
}

// misspeltVariables returns warnings about variables whose names are similar to those that
// set flags. Others that start with MILLHAND_ may be those of another program.
func misspeltVariables(app *cli.App, names []string) []string {
	var known []string
	for _, v := range variableDocs() {
		known = append(known, v.names...)
	}
	for _, c := range append(all(app.Commands), &cli.Command{Flags: app.Flags}) {
		for _, f := range c.Flags {
			known = append(known, variable(f))
		}
	}
	var list []string
	for _, name := range names {
		if !strings.HasPrefix(name, "MILLHAND_") || slices.Contains(known, name) {
			continue
		}
		if k := problem.Nearest(name, known, 2); k != "" {
			list = append(list, fmt.Sprintf("the variable %s sets nothing; did you mean %s?", name, k))
		}
	}
	return list
}
