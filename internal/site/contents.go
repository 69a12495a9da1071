package main

// section is a group of pages in the navigation.
type section struct {
	title string
	pages []entry
}

// entry is a page in the navigation: its source, relative to the repository's root, and its title
// there.
type entry struct{ source, title string }

// contents returns the navigation. Each document for users has an entry.
func contents() []section {
	return []section{
		{"Start", []entry{
			{"README.md", "millhand"},
			{"docs/getting-started.md", "Getting started"},
			{"docs/guide.md", "Guide to manifests"},
			{"docs/faq.md", "FAQ"},
			{"docs/comparison.md", "Comparison"},
		}},
		{"Running", []entry{
			{"docs/ci.md", "CI recipes"},
			{"docs/bulk.md", "Many repositories"},
			{"docs/fleet.md", "Fleets"},
			{"docs/scale.md", "Scale"},
			{"docs/models.md", "Models and providers"},
			{"docs/scripts.md", "Scripted models"},
			{"docs/money.md", "Costs and limits"},
			{"docs/tools.md", "Tools and agents"},
			{"docs/extension.md", "Extensions"},
			{"docs/reports.md", "Reports"},
			{"docs/log.md", "The log"},
			{"docs/opencode.md", "From OpenCode"},
		}},
		{"Security", []entry{
			{"docs/security.md", "Overview"},
			{"docs/sandbox.md", "The sandbox"},
			{"docs/secrets.md", "Keys and secrets"},
			{"docs/policy.md", "Policies"},
			{"SECURITY.md", "Threat model and guarantees"},
		}},
		{"Reference", []entry{
			{"docs/manifest.md", "Manifest keys"},
			{"docs/cli.md", "Command line"},
			{"docs/report.md", "Reports and events"},
			{"docs/troubleshooting.md", "Troubleshooting"},
			{"docs/stability.md", "Stability"},
			{"docs/figures.md", "Figures"},
			{"docs/releasing.md", "Releasing"},
			{"CHANGELOG.md", "Changes"},
		}},
		{"Examples", []entry{
			{"examples/README.md", "Index"},
			{"examples/quickstart/README.md", "Quickstart"},
			{"examples/go/README.md", "Go"},
			{"examples/npm/README.md", "npm"},
			{"examples/python/README.md", "Python"},
			{"examples/foreign/README.md", "A published module"},
			{"examples/tools/README.md", "Tools"},
			{"examples/extension/README.md", "Extensions"},
			{"examples/recipes/codemod/README.md", "Codemod"},
			{"examples/recipes/coverage/README.md", "Coverage"},
			{"examples/recipes/dependency-upgrade/README.md", "Dependency upgrade"},
			{"examples/recipes/flaky/README.md", "Flaky test"},
			{"examples/recipes/headers/README.md", "Licence headers"},
			{"examples/recipes/lint/README.md", "Lint findings"},
			{"examples/recipes/migration/README.md", "Migration"},
			{"examples/recipes/review/README.md", "Review"},
			{"examples/recipes/translate/README.md", "Translation"},
			{"examples/recipes/triage/README.md", "Triage"},
			{"examples/github/README.md", "GitHub"},
			{"examples/gitlab/README.md", "GitLab"},
			{"examples/cron/README.md", "cron"},
			{"examples/systemd/README.md", "systemd"},
			{"examples/queue/README.md", "Queue"},
			{"examples/kubernetes/README.md", "Kubernetes"},
		}},
	}
}
