package tasks

import (
	"fmt"
	"math"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/findings"
)

// The keys of a manifest, one line each: name, type and destination, default,
// meaning. Decoding, the suggestions for unknown keys and [Keys] use these
// tables. Forms with checks of their own are defined beside their readers.

func (m *manifest) keys() keys {
	return append(keys{
		{"version", required("version: 1", checked(versionForm)), "", "Version of the manifest format, a file of at most 1 MiB"},
		{"name", into(&m.name, stringForm), "", "Name of the run in reports (the first manifest's file name if absent)"},
		{"model", into(&m.models, modelsForm), "", "Model as PROVIDER/MODEL, script:FILE or replay:FILE, or a list of up to 10 whose later entries are fallbacks"},
		{"profile", into(&m.profile, optional(textForm)), "readonly", "Profile of all tasks: a preset (readonly, review, edit, build, full) or a name under profiles"},
		{"limits", into(&m.limits, mapping((*Limits).keys)), "", "Limits of each job"},
		{"budget", into(&m.budget, mapping((*Budget).keys)), "", "Limits of the run"},
		{"jobs", into(&m.parallel, between(1, maxParallel)), "1", "Number of jobs that run concurrently"},
		{"clones", into(&m.clones, between(1, maxParallel)), "4", "Number of repositories that are fetched concurrently"},
		{"vars", into(&m.vars, varsForm), "", "Variables for ${{ vars.NAME }}"},
		{"profiles", into(&m.profiles, profilesForm), "", "Permission profiles by name"},
		{"repos", into(&m.repos, reposForm), "", "Repositories that tasks run on (the current repository if absent)"},
		{"tasks", into(&m.tasks, upTo(maxJobs, listOf(taskForm))), "", "Tasks to run, at least one"},
		{"allow_dirty", into(&m.allowDirty, boolForm), "false", "Accept uncommitted changes in repositories that are changed in place"},
		{"allow_unknown_price", noting(&m.unknown, into(&m.allowUnknownPrice, boolForm)), "false", "Accept models without a known price under a cost limit"},
		{"instructions", into(&m.instructions, upTo(maxCommands, flat(instructionForm))), "", "Files or globs whose text every session gets as instructions, relative to the manifest"},
		{"prices", into(&m.prices, pricesForm), "", "Prices of models by PROVIDER/MODEL, in USD per million tokens"},
		{"agents", into(&m.agents, agentsForm), "", "Agents by name: new ones, or changes of build, plan, explore and general"},
		{"agents_from", into(&m.agentFiles, upTo(maxDefined, flat(agentFilesForm))), "", "Markdown files with agents in OpenCode's format, directories of them, or an .opencode directory"},
		{"commands", adding(&m.commands, commandsForm), "", "Commands by name: prompts of tasks that name them as command, with arguments"},
		{"commands_from", adding(&m.commands, upTo(maxDefined, flat(commandFilesForm))), "", "Markdown files with commands in OpenCode's format, directories of them, or an .opencode directory"},
		{"providers", into(&m.providers, providersForm), "", "Model endpoints by name: new ones, or changes of known providers"},
		{"forges", into(&m.forges, forgesForm), "", "Git hosts, as HOST or HOST:PORT: what they are, and where their tokens come from"},
		{"search", into(&m.search, searchForm), "", "Service that the tools websearch and codesearch query"},
		{"tools", into(&m.tools, toolsForm), "", "Custom tools by name"},
		{"skills", into(&m.skills, upTo(maxDefined, listOf(skillsForm))), "", "Directories with skills, relative to the manifest"},
		{"batch", into(&m.batch, boolForm), "false", "Offer the batch tool to models"},
		{"tool_output", into(&m.output, mapping((*OutputLimits).keys)), "", "Limits of the output of a tool call that a model gets"},
		{"mcp", into(&m.servers, mcpForm), "", "MCP servers by name, whose tools are offered as NAME_TOOL"},
		{"tools_from", into(&m.toolFiles, upTo(maxDefined, listOf(scriptFileForm))), "", "Tool files in OpenCode's format: files, directories with a directory tool or tools, or workspace:PATH in the job's repository at its base commit"},
		{"plugins", into(&m.plugins, upTo(maxDefined, listOf(pluginForm))), "", "Plugins in OpenCode's format: files, packages, or workspace:PATH"},
		{"js", into(&m.scripts, scriptsForm), "", "The process of tool files and plugins, one for each job"},
		{"lsp", into(&m.languageServers, lspForm), "", "Language servers: true for the known ones that are on PATH, or servers by name"},
		{"lsp_diagnostics", into(&m.diagnostics, mapping((*diagnostics).keys)), "", "When models get the errors that language servers find"},
		{"hooks", into(&m.hooks, hooksForm), "", "Commands that run on events of runs, jobs, tool calls and commits"},
		{"rollout", into(&m.rollout, rolloutForm), "", "Waves of jobs, each run by a separate invocation"},
		{"evidence", noting(&m.proof, into(&m.evidence, mapping((*Evidence).keys))), "", "Chain the events and seal the report directory, for millhand verify-report"},
		{"follow", into(&m.follow, followForm), "", "What millhand follow does with open pull requests; of several manifests, the strictest values hold"},
	}, m.sampling.keys()...)
}

func (l *hookLists) keys() keys {
	return keys{
		{"run_start", l.on(RunStart), "", "Before the first job; a failure ends all jobs"},
		{"run_end", l.on(RunEnd), "", "After the last job"},
		{"job_start", l.on(JobStart), "", "Before the setup commands of a job"},
		{"job_end", l.on(JobEnd), "", "After everything else of a job"},
		{"before_tool", l.on(BeforeTool), "", "Before each tool call; exit code 2 denies it, and standard error is the reason"},
		{"after_tool", l.on(AfterTool), "", "After each tool call; standard output is appended to its result"},
		{"before_commit", l.on(BeforeCommit), "", "After verify, before the changes are committed; may change files, and a failure prevents the commit"},
		{"after_commit", l.on(AfterCommit), "", "After the commit, before it is published"},
	}
}

func (h *hook) keys() keys {
	all := keys{
		{"run", required("run: COMMAND", into(&h.program, programForm)), "", "Shell command, or a program and its arguments"},
		{"time", into(&h.Time, durationForm), "30s", "Timeout of the command"},
		{"optional", into(&h.Optional, boolForm), "false", "Whether a failure is only a warning"},
	}
	if !h.On.OfRun() {
		all = append(all, key{"write", into(&h.writes, workspaceForm), "", writeWorkspaceDoc})
	}
	if h.On == BeforeTool || h.On == AfterTool {
		all = append(all, key{"tools", into(&h.Tools, upTo(maxCommands, listOf(toolPatternForm))), "", "Tools whose calls it is run for, with wildcards (all if absent)"})
	}
	return all
}

func (l *Limits) keys() keys {
	return keys{
		{"turns", into(&l.Turns, positive()), "100", "Model requests of a job"},
		{"cost", into(&l.CostUSD, costForm), "", "Cost of a job in USD"},
		{"time", into(&l.Time, durationForm), "1h", "Duration of a job"},
		{"tokens", into(&l.Tokens, tokensForm), "", "Input and output tokens of a job"},
		{"denials", into(&l.Denials, positive()), "50", "Denied tool calls of a job"},
		{"failures", into(&l.Failures, positive()), "50", "Failed tool calls of a job"},
		{"disk", into(&l.Disk, bytesForm), "8GB", "Growth of the workspace and the private directories of a job"},
		{"memory", into(&l.Memory, bytesForm), "", "Memory of the commands of a job"},
		{"processes", into(&l.Processes, between(leastProcesses, math.MaxInt32)), "4096", "Processes and threads of the commands of a job"},
	}
}

func (b *Budget) keys() keys {
	return keys{
		{"cost", into(&b.CostUSD, costForm), "", "Cost of the run in USD"},
		{"time", into(&b.Time, durationForm), "", "Duration of the run"},
	}
}

func (s *Sampling) keys() keys {
	return keys{
		{"effort", into(&s.Effort, effortForm), "", "Reasoning effort (the provider's default if absent)"},
		{"temperature", into(&s.Temperature, temperatureForm), "", "Sampling temperature from 0 to 2 (the provider's default if absent)"},
		{"max_output", into(&s.MaxOutput, positive()), "", "Output tokens of a response (the provider's default if absent)"},
	}
}

func (o *OutputLimits) keys() keys {
	return keys{
		{"lines", into(&o.Lines, between(1, maxOutputLines)), "2000", "Lines; longer output is truncated and saved to a file"},
		{"bytes", into(&o.Bytes, between(1, maxOutputBytes)), "51200", "Bytes; longer output is truncated and saved to a file"},
	}
}

func (t *task) keys() keys {
	return keys{
		{"id", required("id: fix-tests", into(&t.id, taskIDForm)), "", "Unique name of the task, used in job ids and branch names"},
		{"prompt", into(&t.prompt, taskPromptForm), "", "Prompt; may contain ${{ VARIABLE }}, @FILE and !`COMMAND` (required without command)"},
		{"command", into(&t.command, optional(textForm)), "", "Command of commands or commands_from that has the prompt"},
		{"arguments", into(&t.arguments, optional(textForm)), "", "Arguments of the command; may contain ${{ VARIABLE }}"},
		{"agent", into(&t.agent, optional(textForm)), DefaultAgent, "Agent that runs the task: build, plan, explore, general or a name under agents"},
		{"model", into(&t.models, modelsForm), "", "Model or fallback list (the agent's or the manifest's if absent)"},
		{"profile", into(&t.profile, optional(textForm)), "", "Profile (the manifest's if absent)"},
		{"limits", into(&t.limits, mapping((*Limits).keys)), "", "Limits of each job of the task; keys that are absent are taken from the manifest"},
		{"repos", into(&t.repos, reposForm), "", "Repositories (the manifest's if absent)"},
		{"vars", into(&t.vars, varsForm), "", "Variables for ${{ vars.NAME }}, added to those of the manifest"},
		{"matrix", into(&t.matrix, matrixForm), "", "Lists of values by name; the task runs once for each combination"},
		{"needs", into(&t.needs, listOf(textForm)), "", "Ids of tasks whose jobs must pass first"},
		{"if", into(&t.condition, conditionForm), "", "Expression; the job is skipped if it is false"},
		{"setup", bounded(policy.Setup, into(&t.setup, orOne(commandForm))), "", "Shell commands that run before the agent"},
		{"setup_env", into(&t.setupEnv, listOf(envForm)), "", "Environment variables that only setup commands get, and only before there is output of a model"},
		{"script", noting(&t.scripted, into(&t.script, taskScriptForm)), "", "Script next to the manifest that does the work without a model: it runs in the sandbox without network, then verify; the agent starts only if one of them fails, or if nothing changed although the task has if or require_changes"},
		{"verify", bounded(policy.Verify, into(&t.verify, orOne(checkForm))), "", "Commands that must succeed after the agent reports completion; each with HOME and TMPDIR as setup left them"},
		{"baseline", noting(&t.based, into(&t.baseline, oneOf([]Baseline{BaselineRun, BaselineMustFail, BaselineMustPass, BaselineSkip}))), "run", "What the verify commands must do before the agent starts: run: pass or fail; must_fail: at least one fails; must_pass: all pass; skip: do not run"},
		{"attempts", into(&t.attempts, positive()), "1", "Number of times that the agent may work until verify succeeds"},
		{"require_changes", into(&t.requireChanges, boolForm), "false", "Fail the job if it changes nothing"},
		{"change", into(&t.change, short(mapping((*change).keys), changePathsForm.Type, ifPaths)), "", "Limits of what the task may change; exceeding them is returned to the agent like a failed verify"},
		{"output", into(&t.output, short(mapping((*output).keys), Type{Name: "enum", Values: []string{findings.Name}}, ifFindings)), "", "Form of the final message, and a file for it"},
		{"commit", into(&t.commit, commitForm), "", "How changes are committed; false leaves them in place without a commit"},
		{"publish", into(&t.publish, publishForm), "", "Where the work goes after the commit"},
	}
}

func (c *check) keys() keys {
	return keys{
		{"name", into(&c.Name, stringForm), "", "Name in reports (the first line of run if absent)"},
		{"run", required("run: COMMAND", into(&c.run, commandForm)), "", "Shell command; exit code 0 passes"},
		{"time", into(&c.Time, durationForm), "10m", "Timeout of the command"},
		{"in", into(&c.In, oneOf([]VerifyIn{InWorkspace, InClean})), "workspace", "workspace: where the agent worked; clean: a fresh checkout of the job's commit, after setup has run there again"},
	}
}

func (c *change) keys() keys {
	return keys{
		{"paths", into(&c.paths, changePathsForm), "", "Globs of the only paths that may be changed, relative to the workspace or the repository; may contain ${{ VARIABLE }}"},
		{"max_files", into(&c.MaxFiles, positive()), "", "Number of changed files"},
		{"max_lines", into(&c.MaxLines, positive()), "", "Number of added and removed lines"},
		{"no_deleted_tests", into(&c.NoDeletedTests, boolForm), "false", "Whether tests may not be deleted, emptied or skipped"},
	}
}

func (o *output) keys() keys {
	return keys{
		{"schema", into(&o.schema, outputSchemaForm), "", "What the final message must match: findings, the built-in schema of reviews, or the JSON Schema of an object"},
		{"file", into(&o.file, optional(templateForm)), "", "File below the manifest's directory that the final message is written to; may contain ${{ VARIABLE }}"},
	}
}

func (c *commit) keys() keys {
	return keys{
		{"message", into(&c.message, emptyForm(templateForm)), "", "Commit message (if absent, the id of the task and what the final message reports as done, or else the prompt)"},
		{"branch", into(&c.branch, emptyForm(templateForm)), "", "Branch (millhand/TASK and the matrix values if absent); @current commits in place on the branch that is checked out"},
		{"author", into(&c.author, authorForm), "", "Author of the commit (millhand <millhand@localhost> if absent)"},
		{"sign", signature("commits", into(&c.sign, oneOf([]Sign{SignNone, SignSSH, SignOpenPGP, SignAPI}))), "none", "Signature of the commit: ssh or openpgp, with the key in MILLHAND_SIGNING_KEY; api: made by GitHub, which shows it as verified"},
		{"if_exists", noting(&c.exists, into(&c.ifExists, oneOf([]IfExists{FailIfExists, ReplaceIfExists, SkipIfExists, AppendIfExists}))), "fail", "What to do if the branch exists"},
		{"protect", into(&c.protect, protectForm), "", "Globs of paths that nothing may change"},
		{"wip", into(&c.wip, boolForm), "false", "Also commit the work of a job that exceeded a limit"},
		{"include", into(&c.include, listOf(oneOf([]string{"setup", "verify", "hooks", "build"}))), "", "What is committed although the agent did not make it: files that setup, verify or hooks left, and build artifacts"},
	}
}

func (p *Person) keys() keys {
	return keys{
		{"name", required("name: NAME", into(&p.Name, stringForm)), "", "Name of the author"},
		{"email", required("email: ADDRESS", into(&p.Email, stringForm)), "", "Email address of the author"},
	}
}

func (p *publish) keys() keys {
	return keys{
		{"mode", noting(&p.value, into(&p.mode, oneOf(publishModes()))), "none", "none: only commit; patch: only the patch; branch: the branch in the repository; push: pushed to the remote; pr: also a pull request"},
		{"base", into(&p.base, optional(textForm)), "", "Base branch of the pull request (the branch that the job started from, or the default branch, if absent)"},
		{"title", into(&p.title, optional(templateForm)), "", "Title of the pull request (the commit's subject if absent); may contain ${{ VARIABLE }}, also summary, verify, cost and report"},
		{"body", into(&p.body, optional(templateForm)), "", "Description of the pull request (made from the result if absent); variables as in title, and patterns"},
		{"draft", into(&p.draft, boolForm), "false", "Whether a new pull request is a draft"},
		{"labels", into(&p.labels, upTo(maxPeople, listOf(stringForm))), "", "Labels that the pull request gets"},
		{"reviewers", into(&p.reviewers, upTo(maxPeople, listOf(stringForm))), "", "Users, or teams as ORG/TEAM, that are asked for a review"},
		{"assignees", into(&p.assignees, upTo(maxPeople, listOf(stringForm))), "", "Users that the pull request is assigned to"},
		{"if_exists", into(&p.ifExists, oneOf([]IfExists{ReplaceIfExists, AppendIfExists, SkipIfExists, FailIfExists})), "replace", "What to do about an open pull request of the branch: replace its texts, append to its description, skip the job, or fail"},
		{"fork", into(&p.fork, accountForm), "", "Account with the fork that the branch is pushed to, created if it is missing; auto: that of the token's user, if the token can't push to the repository"},
		{"comment", into(&p.comment, optional(commentForm)), "", "Post the final message of a job that passed on an issue or a pull request, with any mode"},
	}
}

func (c *comment) keys() keys {
	return keys{
		{"issue", into(&c.issue, optional(threadForm)), "", "Number of the issue; may contain ${{ VARIABLE }}"},
		{"pull_request", into(&c.pull, optional(threadForm)), "", "Number of the pull request or merge request; may contain ${{ VARIABLE }}"},
		{"sticky", into(&c.sticky, boolForm), "false", "Update the comment of earlier runs of the job instead of adding one"},
	}
}

func (e *repoEntry) keys() keys {
	return keys{
		{"path", into(&e.target, textForm), "", "Directory of an existing repository, or a directory in one"},
		{"copy", into(&e.target, textForm), "", "Directory that is copied to a private repository"},
		{"url", into(&e.target, textForm), "", "URL of a remote repository: https, ssh, git@HOST:PATH or file"},
		{"file", into(&e.target, textForm), "", "File with one repository per line; - is standard input"},
		{"glob", into(&e.target, textForm), "", "Glob of directories with repositories"},
		{"github", into(&e.source, short(sourceForm(GitHub, (*githubSource).keys, func(s *githubSource) *Source { return &s.Source }), Type{Name: "string"}, ifString("org"))), "", "Repositories of an organization or user on GitHub"},
		{"gitlab", into(&e.source, short(sourceForm(GitLab, (*gitlabSource).keys, func(s *gitlabSource) *Source { return &s.Source }), Type{Name: "string"}, ifString("group"))), "", "Repositories of a group or user on GitLab"},
		{"gitea", into(&e.source, sourceForm(Gitea, (*giteaSource).keys, func(s *giteaSource) *Source { return &s.Source })), "", "Repositories of an organization or user on Gitea or Forgejo"},
		{"ref", into(&e.ref, revisionForm), "", "Branch, tag or commit to start from (HEAD, the default branch, if absent)"},
		{"depth", into(&e.depth, between(0, math.MaxInt32)), "0", "Commits of history to fetch from a remote repository; 0 is all"},
		{"include", into(&e.include, upTo(maxCells, listOf(globForm))), "", "Globs that select repositories of file or glob"},
		{"exclude", into(&e.exclude, upTo(maxCells, listOf(globForm))), "", "Globs that leave out repositories of file or glob"},
	}
}

func (s *githubSource) keys() keys {
	return append(keys{
		{"host", into(&s.Host, sourceHostForm), "github.com", "Host of the server, as HOST or HOST:PORT"},
		{"org", required("org: NAME", into(&s.Owner, ownerOf(ownerForm))), "", "Organization or user"},
	}, s.filters()...)
}

func (s *gitlabSource) keys() keys {
	return append(keys{
		{"host", into(&s.Host, sourceHostForm), "gitlab.com", "Host of the server, as HOST or HOST:PORT"},
		{"group", required("group: NAME", into(&s.Owner, ownerOf(groupForm))), "", "Group with its subgroups, or user"},
	}, s.filters()...)
}

func (s *giteaSource) keys() keys {
	return append(keys{
		{"host", required("host: git.example.com", into(&s.Host, sourceHostForm)), "", "Host of the server, as HOST or HOST:PORT"},
		{"org", required("org: NAME", into(&s.Owner, ownerOf(ownerForm))), "", "Organization or user"},
	}, s.filters()...)
}

// filters are the keys that sources of all kinds have.
func (s *Source) filters() keys {
	return keys{
		{"topic", into(&s.Topic, stringForm), "", "Only repositories with this topic"},
		{"search", into(&s.Search, stringForm), "", "Only repositories with this text in their name or description, ignoring case"},
		{"language", into(&s.Language, stringForm), "", "Only repositories with this main programming language"},
		{"archived", into(&s.Archived, boolForm), "false", "Include archived repositories"},
		{"forks", into(&s.Forks, boolForm), "false", "Include forks"},
		{"include", into(&s.Include, upTo(maxCells, listOf(globForm))), "", "Globs that select repositories, such as OWNER/NAME or NAME"},
		{"exclude", into(&s.Exclude, upTo(maxCells, listOf(globForm))), "", "Globs that leave out repositories"},
	}
}

func (m *matrix) keys() keys {
	return keys{
		{"include", into(&m.include, upTo(maxCells, listOf(cellsForm))), "", "Combinations to add, or values to add to the combinations that they match"},
		{"exclude", into(&m.exclude, upTo(maxCells, listOf(cellsForm))), "", "Combinations to leave out"},
	}
}

func (p *price) keys() keys {
	return keys{
		{"input", required("input: 0.25", into(&p.Input, priceForm)), "", "Price of input tokens"},
		{"output", required("output: 2.00", into(&p.Output, priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&p.CacheRead, priceForm), "", cacheReadDoc},
		{"cache_write", into(&p.CacheWrite, priceForm), "", cacheWriteDoc},
		{"tiers", into(&p.tiers, tiersForm), "", tiersDoc},
	}
}

const (
	cacheReadDoc  = "Price of cached input tokens (input's if absent)"
	cacheWriteDoc = "Price of input tokens that are written to the cache (if absent, 1.25 times input's for Claude and gpt-5.6 and later, else input's)"
	tiersDoc      = "Prices of requests with a longer input, which replace the others"
)

func (t *tier) keys() keys {
	return keys{
		{"above", required("above: 200000", into(&t.From, tokensForm)), "", "Tokens of input above which it applies"},
		{"input", required("input: 0.25", into(&t.Input, priceForm)), "", "Price of input tokens"},
		{"output", required("output: 2.00", into(&t.Output, priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&t.cacheRead, optional(priceForm)), "", cacheReadDoc},
		{"cache_write", into(&t.cacheWrite, optional(priceForm)), "", cacheWriteDoc},
	}
}

func (m *modelFacts) keys() keys {
	return keys{
		{"like", into(&m.Like, likeForm), "", "Model of the price table that it equals in everything else, such as openai/gpt-5.5"},
		{"input", into(&m.Input, optional(priceForm)), "", "Price of input tokens, in USD per million"},
		{"output", into(&m.Output, optional(priceForm)), "", "Price of output tokens"},
		{"cache_read", into(&m.CacheRead, optional(priceForm)), "", cacheReadDoc},
		{"cache_write", into(&m.CacheWrite, optional(priceForm)), "", cacheWriteDoc},
		{"tiers", into(&m.tiers, tiersForm), "", tiersDoc},
		{"window", into(&m.Window, positive()), "", "Context window in tokens"},
		{"max_output", into(&m.MaxOutput, positive()), "", "Maximum output tokens of a response"},
		{"vision", into(&m.Vision, optional(boolForm)), "", "Whether it sees images (they are sent if that is unknown)"},
		{"reasoning", into(&m.Reasoning, optional(boolForm)), "", "Whether it reasons: if so it gets no temperature, if not no effort"},
	}
}

func (p *profileBody) keys() keys {
	return keys{
		{"extends", into(&p.extends, optional(textForm)), "", "Preset or profile whose rules come first (one that denies everything if absent)"},
		{"permission", field{Type: rulesType(), read: p.readRules}, "", "allow or deny, or rules by permission and pattern; the last match decides"},
		{"git", field{Type: Type{Name: "enum", Values: []string{"none", "write"}}, read: p.readGit}, "", "Whether files in .git may be written (as in the extended profile if absent)"},
		{"network", into(&p.network, networkForm), "", "deny, allow (public addresses), or a list of hosts and host groups (as in the extended profile if absent)"},
		{"setup_network", into(&p.setup, setupNetworkForm), "registries", "What setup commands may reach before there is output of a model: registries (those of the package managers that the workspace uses, and network), deny, allow, or a list"},
		{"cache", into(&p.cache, cacheForm), "auto", "Caches of the user whose downloads commands may read: those of the package managers that the workspace uses, none, or a list (as in the extended profile if absent)"},
		{"env", into(&p.env, listOf(envForm)), "", "Environment variables that commands get"},
		{"examples", into(&p.examples, listOf(exampleForm)), "", "Expected decisions; millhand validate checks them"},
	}
}

func (e *example) keys() keys {
	return keys{
		{"allow", into(&e.allowed, stringForm), "", "Tool whose call must be allowed"},
		{"deny", into(&e.denied, stringForm), "", "Tool whose call must be denied"},
		{"subject", into(&e.subject, stringForm), "", "What the tool is called with: a path, a command line or a URL"},
	}
}

func (a *agent) keys() keys {
	return append(keys{
		{"description", into(&a.Description, stringForm), "", "When to use the agent; models that may start it read this"},
		{"prompt", into(&a.prompt, agentPromptForm), "", "System prompt that replaces the built-in one"},
		{"mode", into(&a.mode, agentModeForm), "", "primary: for tasks only; subagent or all: models may start it"},
		{"model", into(&a.model, optional(oneModelForm)), "", "Model (the task's if absent)"},
		{"profile", into(&a.profile, optional(textForm)), "", "Profile that limits the task's profile"},
		{"turns", into(&a.Turns, positive()), "", "Model requests of the agent (the task's limit if absent)"},
	}, a.Sampling.keys()...)
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

func (l *Login) keys() keys {
	return keys{
		{"role", into(&l.Role, roleForm), "", "ARN of the AWS role that is assumed with the OIDC token of the CI"},
		{"identity_provider", into(&l.IdentityProvider, identityForm), "", "Google's workload identity provider that exchanges the OIDC token: projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME"},
		{"service_account", into(&l.ServiceAccount, serviceForm), "", "Google service account that the identity provider may impersonate"},
		{"tenant_id", into(&l.TenantID, tenantForm), "", "Entra tenant of Azure (AZURE_TENANT_ID if absent)"},
		{"client_id", into(&l.ClientID, clientForm), "", "Entra application that accepts the OIDC token (AZURE_CLIENT_ID if absent)"},
		{"id_token_env", into(&l.TokenEnv, keyEnvForm), "", "Environment variable with the OIDC token (GitHub's is requested if absent)"},
	}
}

func (f *forge) keys() keys {
	return keys{
		{"kind", into((*string)(&f.Kind), forgeKindForm), "", "Kind of the server (required, except for github.com, gitlab.com, codeberg.org and gitea.com)"},
		{"token_env", into(&f.TokenEnv, keyEnvForm), "", "Environment variable with the token; it goes before all others"},
		{"key_command", into(&f.command, argvForm), "", "Command that prints the token; runs outside of the sandbox before the first use, and again after a 401"},
		{"ttl", into(&f.ttl, durationForm), "", "How long a token of key_command is used (until the server rejects it)"},
		{"app", into(&f.App, appForm), "", "GitHub App whose installations have the tokens; {} for the default variables"},
	}
}

func (a *GitHubApp) keys() keys {
	return keys{
		{"id_env", into(&a.IDEnv, keyEnvForm), "MILLHAND_GITHUB_APP_ID", "Environment variable with the application ID or client ID"},
		{"key_env", into(&a.KeyEnv, keyEnvForm), "MILLHAND_GITHUB_APP_KEY", "Environment variable with the private key as PEM, or the path of its file"},
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

func (s *Search) keys() keys {
	return keys{
		{"backend", into(&s.Backend, enum("exa", "json")), "", "Protocol of the service"},
		{"url", into(&s.URL, searchURLForm), "", "URL of the service (required for json)"},
		{"key_env", into(&s.KeyEnv, keyEnvForm), "", "Environment variable with the API key"},
	}
}

func (t *customTool) keys() keys {
	return keys{
		{"description", required("description: TEXT", into(&t.Description, stringForm)), "", "What the tool does; models read this"},
		{"command", required("command: COMMAND", into(&t.program, programForm)), "", "Shell command, or a program and its arguments as a list; gets the arguments of the call as JSON on standard input"},
		{"parameters", into(&t.Schema, emptySchemaForm), "", "JSON Schema of the arguments (none if absent)"},
		{"time", into(&t.Time, durationForm), "2m", "Timeout of a call"},
		{"read_only", into(&t.ReadOnly, boolForm), "false", "Whether calls change nothing and may run concurrently"},
		{"write", into(&t.writes, workspaceForm), "", writeWorkspaceDoc},
	}
}

// The names of these keys are OpenCode's, except those for access.
func (s *mcpServer) keys() keys {
	return append(keys{
		{"type", into(&s.kind, oneOf([]string{localServer, remoteServer})), "", "local: a process, used through its standard input and output (if absent); remote: a server over HTTP"},
		{"command", into(&s.process.program, argvForm), "", "Program and arguments of a local server (required); runs in the workspace, in a sandbox of its own"},
		{"url", into(&s.remote.url, serverURLForm), "", "URL of a remote server (required)"},
		{"headers", into(&s.remote.headers, serverHeadersForm), "", "HTTP headers of each request to a remote server; may contain ${{ env.NAME }}, also as {env:NAME}"},
		{"oauth", checked(form[bool]{boolForm.Type, readOAuth}), "", "false: remote servers get headers, nobody can log in"},
		{"enabled", into(&s.enabled, boolForm), "true", "Whether the server is used"},
		{"timeout", into(&s.Timeout, timeoutForm), "", "Timeout of the start and of each request, as a duration or in milliseconds (30s if absent)"},
		{"call_timeout", into(&s.callTimeout, optional(timeoutForm)), "", "Timeout of a call without progress (timeout, or 2m if both are absent)"},
		{"optional", into(&s.Optional, boolForm), "false", "Whether jobs continue without it if it does not start"},
		{"tools", into(&s.Switches, toolSwitchForm), "", "Which of its tools are offered, by their own names; the last match decides"},
		{"follow_changes", into(&s.Follow, boolForm), "false", "Whether tools that it adds, changes or removes during a job are used so from the next turn on"},
	}, s.process.keys()...)
}

func (s *scripts) keys() keys {
	return append(keys{
		{"runtime", into(&s.Runtime, oneOf([]string{"auto", "node", "bun"})), "auto", "Node.js (20 or newer) or Bun; auto: the first on the PATH"},
		{"call_timeout", into(&s.CallTimeout, timeoutForm), "2m", "Timeout of a call of a tool"},
		{"hook_timeout", into(&s.HookTimeout, timeoutForm), "10s", "Timeout of a hook of a plugin"},
	}, s.process.keys()...)
}

func (p *plugin) keys() keys {
	return keys{
		{"path", required("path: FILE", into(&p.file, pluginPathForm)), "", "File or package of the plugin, relative to the manifest, or workspace:PATH"},
		{"options", into(&p.options, optionsForm), "", "Options that the plugin gets"},
		{"optional", into(&p.Optional, boolForm), "false", "Whether jobs continue without it if it does not load"},
	}
}

// The names of these keys are OpenCode's, except those for access.
func (s *languageServer) keys() keys {
	return keys{
		{"command", into(&s.process.program, argvForm), "", "Program and arguments (required for servers that are not known); runs in the workspace, which it can't change, without network"},
		{"extensions", into(&s.Extensions, upTo(maxHeaders, listOf(extensionForm))), "", "Extensions of the files that it is for (required for servers that are not known)"},
		{"env", into(&s.process.environment, environmentForm), "", "Environment variables of the process, as in mcp"},
		{"initialization", into(&s.initialization, initializeForm), "", "Options that the server gets at its start"},
		{"disabled", into(&s.disabled, boolForm), "false", "Leave the server out"},
		{"cache", into(&s.process.cache, cacheForm), "", "Caches of the user whose downloads it may read, as in a profile (none for servers that are not known)"},
		{"read", into(&s.process.reads, upTo(maxHeaders, listOf(processPathForm))), "", "Other paths that it may read, relative to the manifest"},
		{"write", into(&s.process.writes, upTo(maxHeaders, listOf(processPathForm))), "", "Paths outside of the workspace that it may write, relative to the manifest"},
	}
}

func (d *diagnostics) keys() keys {
	return keys{
		{"when", into(&d.when, enum("edit", "off")), "edit", "edit: the result of an edit ends with the errors that are new after it; off: never"},
		{"wait", into(&d.wait, waitForm), "3s", "How long an edit waits for them, up to 20s"},
	}
}

// keys of an agent's Markdown file are OpenCode's.
func (h *agentHead) keys() keys {
	ks := keys{
		{"description", into(&h.agent.Description, stringForm), "", "When to use the agent"},
		{"mode", into(&h.agent.mode, agentModeForm), "", "primary, subagent or all"},
		{"model", into(&h.agent.model, optional(oneModelForm)), "", "Model (the task's if absent)"},
		{"temperature", into(&h.agent.Sampling.Temperature, temperatureForm), "", "Sampling temperature"},
		{"reasoningEffort", into(&h.agent.Sampling.Effort, effortForm), "", "Reasoning effort"},
		{"steps", into(&h.agent.Turns, between(1, 1<<30)), "", "Model requests of the agent"},
		{"maxSteps", into(&h.agent.Turns, between(1, 1<<30)), "", "Model requests of the agent"},
		{"disable", into(&h.off, boolForm), "false", "Leave the agent out"},
		{"disabled", into(&h.off, boolForm), "false", "Leave the agent out"},
		{"tools", field{Type: boolForm.Type, read: h.readTools}, "", "Tools that are on or off, or a list of the only ones"},
		{"permission", field{Type: rulesType(), read: h.readPermission}, "", "Rules by permission and pattern"},
		{"permissions", field{Type: agentRulesForm.Type, read: h.readList}, "", "Rules as in OpenCode 2, in their order"},
	}
	for _, name := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
		ks = append(ks, key{name, field{Type: stringForm.Type, read: h.readToolList}, "", "The only tools"})
	}
	for _, name := range []string{"disallowed-tools", "disallowed_tools", "disallowedTools"} {
		ks = append(ks, key{name, field{Type: stringForm.Type, read: h.readDeniedTools}, "", "Tools that are off"})
	}
	for _, name := range []string{"name", "color", "hidden", "variant", "top_p", "options", "request", "textVerbosity", "reasoningSummary", "thinking"} {
		ks = append(ks, key{name, field{read: ignored}, "", "Accepted and ignored"})
	}
	return ks
}

func (c *commandFile) keys() keys {
	return keys{
		{"description", into(new(string), stringForm), "", "What the command does"},
		{"agent", into(&c.agent, optional(textForm)), "", "Agent of tasks without one"},
		{"model", into(&c.models, modelsForm), "", "Model of tasks without one"},
		{"subtask", field{Type: boolForm.Type, read: ignored}, "", "Accepted and ignored"},
		{"subagent", field{Type: boolForm.Type, read: ignored}, "", "Accepted and ignored"},
	}
}

// own are the keys of a command in a manifest.
func (c *commandFile) own() keys {
	return append(c.keys(), key{"template", required("template: TEXT", into(&c.prompt, stringForm)), "", "The prompt, with $ARGUMENTS, $1, ... for the arguments of the task"})
}

// ignored is the reader of a key that has no effect.
func ignored(v value) {
	v.src.found.note(fmt.Sprintf("%s: %s has no effect here", v.source(), v.name))
}

func (p *policyFile) keys() keys {
	everything := []string{"*"}
	return keys{
		{"version", required("version: 1", checked(versionForm)), "", "Version of the policy format"},
		{"max_profile", field{Type: stringForm.Type, read: p.maxProfile}, "", "Preset or profile file that limits all profiles"},
		{"models", p.names(policy.Models, stringForm), "", "Models that may be used, as globs"},
		{"providers", p.names(policy.Providers, stringForm), "", "Providers that may be used"},
		{"hosts", p.names(policy.Hosts, boundHostForm), "", "Hosts that may be reached; * is all"},
		{"env", p.names(policy.Env, envNameForm), "", "Environment variables that may be used"},
		{"paths", p.names(policy.Paths, directoryForm), "", "Directories that manifests may name"},
		{"repos", p.names(policy.Repos, stringForm), "", "Repositories that may be used, as globs"},
		{"publish", p.names(policy.Publish, enum("none", "patch", "branch", "push", "pr", policy.Comment)), "", "Publish modes that may be used beside none; comment allows publish.comment"},
		{"actors", p.names(policy.Actors, stringForm), "", "People who may start runs by events"},
		{"sandbox", field{Type: Type{Name: "enum", Values: []string{"require"}}, read: p.requireSandbox}, "", "require: refuse to run below sandbox level A"},
		{"protect", into(&p.Protect, protectForm), "", "Globs of paths that nothing may change"},
		{"budget", field{Type: typeOf((*policyFile).budgetKeys), read: p.readBudget}, "", "Cost limits that no manifest can raise"},
		{"prices", field{Type: pricesForm.Type, read: p.readPrices}, "", "Prices of models, which replace all others"},
		{"setup", p.words(policy.Setup, map[string][]string{"allow": everything, "deny": nil}, nil), "", "Whether tasks may have setup commands and scripts"},
		{"cache", p.words(policy.Cache, map[string][]string{"auto": everything, "none": nil}, nil), "", "Whether profiles may use build caches"},
		{"extensions", p.words(policy.Extensions, map[string][]string{"allow": everything, "deny": nil}, &stringForm), "", "Custom tools, MCP servers, language servers and hooks that may be used: allow, deny or a list of names"},
		{"sign", p.names(policy.Sign, enum(string(SignSSH), string(SignOpenPGP), string(SignAPI))), "", "Signatures that commits may have; also for untrusted manifests"},
		{"key_sources", p.names(policy.KeySources, stringForm), "", "Programs of key_command and files of token_file that may be used; none if absent"},
		{"setup_network", p.words(policy.SetupNetwork, map[string][]string{"allow": everything, "deny": nil, "registries": registries()}, &boundHostForm), "", "Hosts that setup commands may reach: allow, deny, registries or a list"},
	}
}

func (p *policyFile) budgetKeys() keys {
	return keys{
		{"run", into(&p.Run.USD, costForm), "", "Cost of a run in USD"},
		{"day", into(&p.Day.USD, costForm), "", "Cost of all runs of a day in USD"},
	}
}

// rulesType is the type of permission.
func rulesType() Type {
	effect := Type{Name: "enum", Values: []string{"allow", "deny"}}
	patterns := effect
	patterns.Or = &Type{Name: "map", Names: "PATTERN", Elem: &effect}
	rules := effect
	rules.Or = &Type{Name: "map", Names: "PERMISSION", Elem: &patterns}
	return rules
}

// listOr adds a list of a type as an alternative to it.
func (t Type) listOr() Type {
	one := t
	t.Or = &Type{Name: "list", Elem: &one}
	return t
}
