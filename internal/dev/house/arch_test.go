// Package house holds the source tree and its documents to rules that no
// compiler checks: which package may import which, and that a document lists
// what the code does.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestMain runs the tests in the root directory of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	m.Run()
}

const module = "github.com/millhand/millhand"

// room is a package: what it may import of the project, and why it may import
// no more.
type room struct {
	imports string // local packages, separated by spaces
	because string
}

// rooms is the import law. Data flows one way, from the manifest to the
// report; a package that is missing here fails, and so does a line that no
// package needs any more.
func rooms() map[string]room {
	return map[string]room{
		".":                               {"internal/command internal/proc/signals/early", "main only hands the process over"},
		"internal/proc/signals":           {"", "which signals end a run"},
		"internal/proc/signals/early":     {"internal/proc/signals", "must be initialized before the larger packages, so it imports none of them; only main imports it"},
		"internal/command":                {"internal/app/action/step internal/app/archive internal/app/audit internal/app/distill/distillery internal/app/doctor internal/app/excerpt internal/app/fault internal/app/follow/pass internal/app/forecast internal/app/load internal/app/merge internal/app/models internal/app/option internal/app/patterns/compared internal/app/planned/outlook internal/app/policies internal/app/policies/recorded internal/app/pricetable internal/app/pulls internal/app/pulls/manage internal/app/queue internal/app/queue/queued internal/app/queue/submission internal/app/queue/worker internal/app/reference internal/app/replay internal/app/runs internal/app/shown internal/app/starter/scaffold internal/app/toolbox internal/app/waves internal/app/world internal/event internal/forge internal/gitops/signing internal/permission internal/prices/dataset internal/proc internal/proc/collection internal/sandbox internal/text/figures internal/text/printable internal/text/redact tasks tasks/form tasks/manifest tasks/problem internal/app/levels internal/app/invocation internal/app/sessions", "flags and arguments become options, and one call of a use case"},
		"internal/app/excerpt":            {"internal/text/printable internal/text/redact tasks/problem", "lines of manifests; it reads none"},
		"internal/app/reference":          {"internal/app/fault internal/event internal/model/script internal/text/figures internal/text/findings report/reportschema tasks/form tasks/manifest tasks/problem", "what files of millhand may contain; it reads none"},
		"internal/app/option":             {"internal/money", "values of options; it knows neither use cases nor command lines"},
		"internal/app/policies":           {"internal/app/fault internal/app/world internal/event internal/files/workspace internal/permission internal/proc internal/text/figures tasks tasks/manifest/profiles tasks/problem tools internal/app/load internal/files/pathtree internal/sandbox internal/text/printable runner/confinement tools/untrusted", "decisions by rules; it runs no tool"},
		"internal/app/policies/recorded":  {"internal/app/fault internal/app/load internal/app/policies internal/app/savedrun internal/app/world internal/event internal/permission internal/permission/policy internal/permission/reach internal/permission/suggest internal/proc internal/sandbox internal/text/figures internal/text/printable internal/text/textcut runner/confinement tasks tools internal/extension/lsp tools/untrusted", "what saved runs used, the profile that follows from it, and what other rules decide about it"},
		"internal/app/load":               {"internal/app/fault internal/app/forges internal/app/option internal/app/pricetable internal/app/world internal/event internal/files internal/files/abandon internal/forge internal/permission internal/permission/policy internal/text/figures internal/text/findings internal/text/printable internal/view tasks tasks/expand tasks/form tasks/manifest tasks/manifest/repolist tasks/problem internal/files/userfile internal/forge/credentials/apis", "a plan and what bounds it; it runs nothing"},
		"internal/app/action":             {"report tasks internal/files/abandon internal/event internal/text/markdown internal/files/pathglob internal/text/printable internal/text/textcut internal/text/findings tasks/expand", "what a workflow gave, and what it gets; it runs nothing"},
		"internal/app/action/step":        {"internal/app/action internal/app/fault internal/app/world internal/event internal/files internal/files/abandon internal/proc internal/rundir internal/text/markdown internal/text/printable report tasks tasks/problem internal/app/planned internal/files/userfile", "the step of the GitHub action; what runs is between its halves"},
		"tasks":                           {"internal/permission internal/permission/policy internal/prices internal/money internal/files/pathtree internal/text/printable tasks/problem tasks/expr tasks/form internal/event internal/files/userfile", "a plan is data: making one runs nothing"},
		"internal/app/replay":             {"internal/app/fault internal/app/load internal/app/runs internal/app/savedrun internal/app/sessions internal/app/world internal/event internal/files internal/gitops internal/gitops/gitdir internal/journal internal/model internal/permission internal/text/figures internal/text/printable internal/text/textcut report runner/history runner/savedsession tasks internal/app/invocation", "a saved run is compared with its replay; runs start and end as all do"},
		"internal/app/ci":                 {"internal/event internal/text/printable", "the environment of a CI job, without knowing plans and runs"},
		"internal/app/waves":              {"internal/app/fault internal/app/forges internal/app/pulls internal/app/savedrun internal/app/world internal/event internal/forge internal/gitops internal/gitops/remote internal/rundir internal/text/printable runner/landing runner/publish internal/app/waves/rollout tasks internal/files/userfile internal/forge/credentials/apis", "a rollout from saved runs and pull requests; it runs no jobs"},
		"internal/app/levels":             {"internal/app/fault internal/app/option internal/event internal/permission/policy internal/sandbox", "a level from a mode, policies and a probe; it confines nothing"},
		"internal/app/result":             {"internal/app/action internal/app/world internal/event internal/permission internal/text/printable internal/view report report/summary internal/app/planned", "what is printed of a report; it decides nothing"},
		"internal/app/repos":              {"internal/app/fault internal/app/world internal/event internal/forge/credentials internal/gitops internal/gitops/signing internal/text/printable internal/text/redact runner/history runner/preflight runner/savedsession tasks internal/rundir internal/forge/credentials/apis", "a preflight with what the environment has; it runs no job"},
		"internal/app/days":               {"internal/app/fault internal/app/world internal/event internal/money internal/money/daily internal/rundir runner/history tasks", "daily budgets on this machine; it counts no jobs"},
		"internal/app/invocation":         {"internal/app/levels internal/app/load internal/app/models internal/app/option internal/app/savedrun internal/app/world internal/event internal/money internal/sandbox internal/text/printable internal/view tasks internal/files/userfile", "options of a run from flags and events; it loads and runs nothing"},
		"internal/app/checks":             {"internal/app/fault internal/app/invocation internal/app/levels internal/app/load internal/app/machine internal/app/models internal/app/policies internal/app/repos internal/app/world internal/event internal/gitops/signing internal/sandbox runner/admission tasks tools tools/command", "what a run needs before its repositories; it runs nothing"},
		"internal/app/sessions":           {"internal/app/checks internal/app/fault internal/app/forges internal/app/invocation internal/app/levels internal/app/load internal/app/repos internal/app/runs internal/app/savedrun internal/app/world internal/event internal/rundir internal/text/figures internal/text/printable internal/text/textcut internal/view runner runner/history runner/preflight runner/savedsession tasks", "one job of a saved run at an earlier state; runs start what follows"},
		"internal/app/runs":               {"internal/app/action internal/app/fault internal/app/forges internal/app/load internal/app/pulls internal/app/savedrun internal/app/world internal/event internal/model internal/money internal/proc internal/rundir internal/sandbox internal/text/figures internal/text/printable internal/text/redact internal/view report report/telemetry runner runner/history tasks runner/preflight runner/savedsession runner/site runner/agent internal/app/ci internal/app/planned internal/app/result internal/app/repos internal/app/days internal/app/invocation internal/app/checks internal/forge/credentials/apis", "the use cases that run plans; it knows no command line"},
		"tasks/problem":                   {"", "mistakes and suggestions, without knowing what was read"},
		"tasks/expr":                      {"tasks/problem", "expressions of texts, without knowing what the variables stand for"},
		"runner":                          {"internal/event internal/extension/hook internal/files internal/gitops internal/gitops/objectdb internal/gitops/remote internal/money internal/proc internal/session runner/admission runner/agent runner/changes runner/commands runner/confinement runner/delivery runner/ending runner/history runner/landing runner/publish runner/savedsession runner/site tasks", "it carries out a plan, and knows no report: reports are folds of its events"},
		"runner/delivery":                 {"internal/event internal/extension/hook internal/files internal/forge internal/gitops internal/gitops/gitdir internal/gitops/remote internal/gitops/state internal/permission internal/sandbox internal/text/findings internal/text/redact internal/text/textcut runner/changes runner/confinement runner/ending runner/landing runner/publish runner/requests runner/site tasks tools/outputs", "what a job has left in its site is saved and published; it knows neither sessions nor other jobs"},
		"tasks/template":                  {"internal/permission/policy internal/text/printable internal/text/textcut tasks tasks/expr tasks/form tasks/problem internal/files/userfile", "texts and conditions with variables, without knowing which keys have them"},
		"tasks/manifest":                  {"tasks/manifest/matrix internal/ecosystem internal/files/abandon internal/files/pathglob internal/model/kinds internal/money internal/permission internal/permission/policy internal/permission/reach internal/prices internal/text/findings tasks tasks/form tasks/manifest/profiles tasks/manifest/programs tasks/problem tasks/template tasks/manifest/repolist internal/files/userfile", "what one file says, without the other files and the command line"},
		"tasks/manifest/matrix":           {"tasks tasks/form tasks/problem", "the matrix of a task and its combinations; it makes no jobs"},
		"tasks/manifest/profiles":         {"internal/ecosystem internal/permission internal/permission/policy internal/permission/reach tasks tasks/form tasks/manifest/programs tasks/problem", "rules with their positions; it judges no call"},
		"tasks/manifest/programs":         {"internal/permission/policy tasks/form tasks/problem internal/files/userfile", "command lines and variables as they are written; it runs and reads none"},
		"tasks/expand":                    {"internal/files/pathtree internal/money internal/permission internal/permission/policy internal/text/findings tasks tasks/form tasks/manifest tasks/manifest/profiles tasks/problem tasks/template tasks/manifest/repolist internal/files/userfile", "making a plan runs nothing"},
		"tasks/form":                      {"tasks/problem internal/files/pathglob internal/files/pathtree internal/money internal/permission/policy internal/text/frontmatter internal/text/schema internal/files/userfile", "values of YAML files, without knowing what keys there are"},
		"runner/changes":                  {"internal/ecosystem internal/event internal/gitops internal/text/textcut runner/ending runner/history internal/gitops/state tools/change", "what differs in a work tree and who made it: it knows no phases, sessions and remotes"},
		"runner/agent":                    {"internal/event internal/extension internal/files/workspace internal/gitops internal/gitops/state internal/journal internal/model internal/model/opened internal/money internal/permission internal/proc internal/proc/failpoint internal/sandbox internal/session internal/session/prompt internal/text/figures internal/text/textcut runner/changes runner/commands runner/confinement runner/ending runner/history runner/jsprogram runner/landing runner/preflight runner/savedsession runner/site tasks tools tools/change tools/file tools/media tools/outputs tools/skill tools/untrusted tools/websearch runner/review runner/requests runner/trials runner/mention runner/denials runner/instructions runner/inspection runner/taskscript", "the sessions of a job in its site; it commits nothing, and knows neither reports nor remotes"},
		"runner/instructions":             {"internal/files/workspace internal/permission internal/session/prompt internal/text/figures runner/ending runner/preflight runner/site runner/terms tasks tools/access tools/skill", "texts for the first prompt from a site, the manifest and a commit: it starts no session"},
		"runner/site":                     {"internal/ecosystem internal/event internal/extension/hook internal/files internal/files/owner internal/files/pathtree internal/files/workspace internal/forge/credentials internal/gitops internal/gitops/content internal/gitops/gitdir internal/files/sharedfile internal/gitops/remote internal/gitops/state internal/permission internal/proc internal/sandbox internal/text/redact internal/text/textcut runner/changes runner/commands runner/confinement runner/ending runner/history runner/landing runner/preflight runner/savedsession tasks tools tools/access tools/untrusted", "where a job works and the commands of its manifest: it knows no models and sessions, and not what becomes of the changes"},
		"runner/history":                  {"internal/event internal/money", "what earlier processes did follows from events alone; it knows neither repositories nor the phases of a job"},
		"runner/confinement":              {"internal/ecosystem internal/event internal/files/diskusage internal/files/owner internal/files/pathtree internal/permission internal/permission/reach internal/proc internal/sandbox internal/sandbox/proxy internal/text/textcut tasks internal/files/sharedfile tools/access tools/command", "commands and processes and what they may reach, without knowing jobs, sessions and what a failure means"},
		"runner/review":                   {"internal/event internal/text/figures internal/text/textcut", "the texts of a review: it knows no jobs and runs no session"},
		"runner/mention":                  {"internal/event internal/files/workspace internal/permission internal/session internal/text/textcut runner/ending tasks tools", "what a prompt names, fetched by calls of its session; it starts none"},
		"runner/denials":                  {"internal/event internal/permission runner/history", "the denied calls of a job, and which profile allows them; it denies nothing"},
		"runner/terms":                    {"internal/permission internal/text/figures internal/text/textcut runner/confinement tasks tools/access", "network, limits and checks in the words of a prompt; it limits nothing"},
		"runner/landing":                  {"internal/ecosystem/testcases internal/event internal/files/pathglob internal/gitops internal/gitops/state internal/permission internal/text/figures internal/text/redact internal/text/textcut internal/event/trailers tasks runner/ending", "what of a change may be committed, and its message: it knows no jobs that run, events and remotes"},
		"runner/savedjob":                 {"internal/event internal/files internal/forge internal/forge/credentials internal/gitops internal/gitops/gitdir internal/gitops/remote internal/gitops/state internal/permission internal/permission/policy internal/text/figures internal/text/findings internal/text/redact internal/text/textcut runner/history runner/landing runner/publish runner/requests internal/event/trailers tasks", "what a run that has ended left is published from events, patches and commits; no job runs meanwhile"},
		"runner/preflight":                {"internal/ecosystem internal/event internal/files internal/files/filelock internal/forge internal/forge/credentials internal/gitops internal/gitops/gitdir internal/gitops/objectdb internal/gitops/remote internal/gitops/state internal/permission internal/text/textcut runner/changes runner/confinement runner/ending runner/history runner/landing runner/publish runner/threads internal/event/trailers tasks", "what a job starts from follows from repositories, remotes and forges; no job runs meanwhile"},
		"runner/savedsession":             {"internal/event internal/files internal/journal runner/history runner/preflight tasks internal/gitops/state", "what a report directory has of sessions, and where a fork or a revert continues: it opens no session"},
		"runner/commands":                 {"internal/ecosystem/envfault internal/ecosystem/failures internal/event internal/files internal/proc internal/text/redact internal/text/terminal runner/confinement runner/ending tasks", "command lines, sandboxes, and what results mean: it decides neither which commands run nor when"},
		"runner/ending":                   {"internal/event internal/permission internal/proc internal/session", "a reason and its code, below the phases that return it; it knows no job"},
		"runner/jsprogram":                {"internal/extension internal/extension/jshost internal/files/owner internal/gitops/state internal/permission internal/proc internal/sandbox runner/confinement tasks", "files become a program that a sandbox runs; it knows no sessions"},
		"runner/ablation":                 {"internal/ecosystem/testcases internal/text/linediff", "which trees are verified follows from a change and results: it runs nothing"},
		"runner/requests":                 {"internal/event internal/permission/policy internal/text/printable tasks", "what of a message is allowed follows from the task and what was made before; it knows no jobs and forges"},
		"runner/inspection":               {"internal/event internal/files internal/gitops/state internal/permission internal/text/figures internal/text/textcut runner/changes runner/commands runner/ending runner/landing runner/site runner/trials tasks", "what is wrong with the changes of an attempt: it runs verify commands, and decides nothing about the job"},
		"runner/taskscript":               {"internal/event internal/files/owner internal/permission internal/text/figures internal/text/textcut runner/commands runner/confinement runner/ending runner/inspection runner/landing runner/site tasks", "a script before the sessions of a job: it calls no model, and decides nothing about the job"},
		"runner/trials":                   {"internal/ecosystem internal/event internal/gitops/state internal/text/figures internal/text/textcut runner/ablation runner/commands runner/ending runner/history runner/site tasks", "trials in checkouts of a site, and the account that follows: it decides nothing about the job"},
		"internal/event/trailers":         {"", "texts of commits, without repositories and plans"},
		"report":                          {"internal/event internal/text/figures internal/text/jsontext internal/money internal/text/printable internal/text/findings report/packing report/jsonlayout", "a report follows from the events alone"},
		"report/reportschema":             {"internal/event internal/money report", "a description of the types of a report; it reads none"},
		"report/html":                     {"internal/event internal/text/figures internal/journal internal/text/markdown internal/model internal/money internal/text/printable report/transcript report internal/text/findings internal/text/textcut report/rollouttext", "a page of a report and of conversations that it is given; it reads no files"},
		"tools":                           {"internal/extension/lsp internal/files internal/permission internal/files/workspace internal/proc internal/text/redact internal/text/jsontext internal/money internal/text/figures internal/text/textcut internal/text/terminal tools/cut tools/arguments tools/tool tools/outputs tools/change tools/media tools/skill tools/access tools/find tools/search tools/webfetch tools/websearch tools/file tools/language tools/command tools/untrusted", "a tool must not know who calls it or what becomes of its result"},
		"tools/shell/program":             {"tools/shell/effect tools/shell/script tools/shell/word", "what is known of programs; it parses no command line"},
		"tools/shell/effect":              {"tools/shell/word", "a pure core"},
		"tools/shell/word":                {"", "a pure core"},
		"tools/shell/script":              {"", "a pure core"},
		"tools/command":                   {"internal/files internal/files/diskusage internal/files/workspace internal/permission internal/proc internal/text/terminal internal/text/textcut tools/access tools/arguments tools/outputs tools/shell tools/tool tools/shell/effect", "commands of a session; the sandbox is given"},
		"tools/file":                      {"internal/files/workspace internal/permission internal/text/figures internal/text/textcut tools/access tools/change tools/cut tools/edit tools/language tools/media tools/outputs tools/patch tools/tool", "files of a workspace; the texts are made below"},
		"tools/language":                  {"internal/extension/lsp internal/files/workspace internal/permission internal/text/figures internal/text/textcut tools/access tools/tool", "what language servers find; it speaks to none"},
		"tools/find":                      {"internal/files/workspace internal/permission internal/text/figures internal/text/textcut tools/access tools/cut tools/search tools/tool", "the tools of searches; the search itself is below"},
		"tools/untrusted":                 {"internal/files/pathtree internal/permission tools/tool", "what was read and which rights are left; it decides and closes nothing"},
		"tools/webfetch":                  {"internal/permission tools/cut tools/media tools/tool tools/web", "pages for a model, by the guarded client"},
		"tools/websearch":                 {"internal/permission internal/text/textcut tools/tool tools/web", "queries to a search service; it fetches no pages"},
		"tools/access":                    {"internal/files internal/files/pathtree internal/files/workspace internal/permission internal/text/textcut tools/skill", "paths and the permissions that using them needs; it decides nothing"},
		"tools/skill":                     {"internal/files/workspace internal/permission internal/text/frontmatter internal/text/textcut tools/cut tools/tool", "files with instructions; it runs none"},
		"tools/media":                     {"internal/files/workspace tools/tool", "attachments, wherever they are from"},
		"tools/change":                    {"internal/files/workspace tools/search tools/tool", "changes of files, which it does not make"},
		"tools/outputs":                   {"internal/files internal/proc internal/text/redact internal/text/terminal tools/cut", "outputs, without knowing which tool made them"},
		"tools/tool":                      {"internal/money internal/permission internal/proc internal/text/jsontext tools/arguments tools/cut", "what tools are, without knowing any"},
		"tools/arguments":                 {"internal/text/jsontext internal/text/schema internal/text/textcut tools/cut", "arguments as models write them, without knowing tools or what they need"},
		"tools/edit":                      {"internal/text/figures tools/merge", "a pure core"},
		"tools/patch":                     {"tools/merge", "a pure core"},
		"tools/merge":                     {"", "a pure core"},
		"tools/shell":                     {"tools/shell/word tools/shell/effect tools/shell/program", "a pure core"},
		"tools/search":                    {"internal/gitops/ignore internal/files/pathglob internal/text/textcut", "a core over a root that it is given"},
		"internal/text/markdown":          {"internal/text/printable internal/text/textcut", "texts of models made safe, whoever shows them"},
		"internal/app/starter":            {"examples internal/ecosystem", "first files, from the names and few files of a repository; it runs nothing"},
		"internal/app/starter/scaffold":   {"internal/app/fault internal/app/load internal/app/opencode internal/app/planned/outlook internal/app/starter internal/app/world internal/event internal/files internal/gitops internal/model/kinds internal/text/printable tasks/manifest", "writes what package starter has made; it runs nothing"},
		"internal/app/distill":            {"tasks report internal/event internal/app/patterns internal/text/textcut", "a decision: what is asked for a script, and whether it is accepted; it runs nothing"},
		"internal/app/distill/distillery": {"internal/app/distill internal/app/fault internal/app/load internal/app/pulls internal/app/pulls/manage internal/app/runs internal/app/savedrun internal/app/world internal/event internal/files internal/forge internal/money internal/rundir internal/text/figures internal/text/printable internal/view report runner/history tasks tasks/manifest internal/app/result internal/app/invocation internal/app/checks internal/files/userfile", "makes and tries a script by runs; package distill judges it"},
		"internal/app/opencode":           {"internal/model/kinds internal/permission internal/text/frontmatter internal/text/redact", "a conversion of texts: it reads no manifest"},
		"internal/event":                  {"internal/money internal/text/figures", "it is the vocabulary of all others"},
		"internal/gitops":                 {"internal/gitops/content internal/gitops/gitdir internal/gitops/state internal/gitops/store internal/files/owner internal/text/textcut internal/files/pathtree internal/proc/failpoint internal/proc/parallel internal/files/sharedfile internal/gitops/objectdb", "a repository and its work tree; it reaches nobody"},
		"internal/gitops/state":           {"internal/files/dirent internal/files/owner internal/gitops/content internal/gitops/gitdir internal/gitops/ignore internal/gitops/store internal/proc/failpoint internal/proc/parallel internal/files/sharedfile internal/gitops/objectdb internal/text/linediff internal/text/redact", "what working trees and commits contain; it makes neither commits nor worktrees"},
		"internal/gitops/content":         {"internal/files internal/files/owner internal/gitops/gitdir internal/gitops/store internal/files/sharedfile internal/gitops/objectdb internal/proc internal/text/textcut", "files as git would store them, without comparing them"},
		"internal/gitops/store":           {"internal/files/owner internal/proc/parallel internal/files/sharedfile internal/gitops/objectdb", "objects that are written, whatever they are of"},
		"internal/proc/parallel":          {"", "goroutines, whatever they do"},
		"internal/gitops/gitdir":          {"internal/gitops/ignore internal/files/owner internal/proc/clock internal/files/sharedfile internal/gitops/objectdb", "a git directory: neither commits to be made nor remotes"},
		"internal/gitops/remote":          {"internal/files/filelock internal/gitops/gitdir internal/proc/keys internal/text/textcut internal/proc/failpoint internal/files/sharedfile internal/gitops/objectdb", "transfers need a git directory, not a work tree"},
		"internal/forge":                  {"internal/text/printable internal/proc/failpoint internal/proc/clock", "requests to forges, without knowing what is published"},
		"internal/forge/github":           {"internal/forge", "one API in the terms of package forge, which paces and repeats its requests"},
		"internal/forge/gitea":            {"internal/forge internal/text/unidiff", "one API in the terms of package forge, which paces and repeats its requests"},
		"internal/forge/gitlab":           {"internal/forge", "one API in the terms of package forge, which paces and repeats its requests"},
		"internal/forge/connect":          {"internal/forge internal/forge/gitea internal/forge/github internal/forge/gitlab", "the only one that knows all APIs"},
		"runner/threads":                  {"internal/forge internal/text/figures internal/text/printable internal/text/textcut tasks", "a text for a prompt follows from what a forge has: it knows no sessions"},
		"runner/publish":                  {"tasks internal/event internal/text/unidiff internal/text/figures internal/forge internal/gitops internal/gitops/gitdir internal/gitops/remote internal/text/markdown internal/money internal/text/printable internal/text/textcut internal/text/findings internal/proc/clock", "commits go to remotes, whoever made them: it knows neither runs nor reports"},
		"internal/app/follow":             {"internal/money internal/text/printable internal/text/textcut", "a decision about a pull request and the texts for it, from what it is given"},
		"internal/app/follow/pass":        {"internal/app/fault internal/app/follow internal/app/forges internal/app/load internal/app/pulls internal/app/pulls/manage internal/app/runs internal/app/savedrun internal/app/world internal/event internal/forge internal/money internal/text/printable report runner runner/history runner/preflight runner/publish runner/savedsession tasks tasks/manifest internal/app/repos internal/app/invocation internal/app/checks internal/rundir", "acts on pull requests as package follow decides; it knows no flags"},
		"internal/testing/forgetest":      {"internal/forge internal/text/unidiff", "a forge for tests"},
		"internal/testing/gittest":        {"", "repositories of the git program and an sshd, for tests"},
		"internal/forge/credentials":      {"tasks internal/forge internal/forge/githubapp internal/gitops/gitdir internal/gitops/remote internal/proc/keys internal/permission/reach internal/proc/clock internal/files/sharedfile", "which credentials a remote gets; it sends only requests that create them"},
		"internal/forge/credentials/apis": {"internal/forge internal/forge/connect internal/forge/credentials internal/gitops/remote internal/proc/clock tasks", "requests to forges with the credentials of their hosts; it decides nothing about pull requests"},
		"internal/gitops/ignore":          {"", "pure rules, shared by git's staging and the search tools so that both agree"},
		"internal/model":                  {"internal/files internal/money internal/text/textcut internal/proc/clock", "neutral terms, below every wire"},
		"internal/login":                  {"internal/proc/keys internal/files/abandon", "credentials of clouds, without knowing models"},
		"internal/testing/logintest":      {"", "a server for tests"},
		"internal/testing/sitetest":       {"internal/event internal/files internal/gitops/gitdir internal/permission internal/sandbox internal/testing/gittest runner/preflight runner/site tasks", "the site of a job, for tests of what works in one"},
		"internal/model/openai":           {"internal/model internal/model/wire internal/money", "OpenAI's wires"},
		"internal/model/anthropic":        {"internal/model internal/model/wire internal/money", "one wire"},
		"internal/model/wire":             {"internal/proc/keys internal/model internal/money internal/proc internal/text/textcut", "what all wires share; proc reports whether a key_command could not be started"},
		"internal/model/opened":           {"internal/event internal/model internal/money", "what was opened, without what opens it and who uses it"},
		"internal/model/kinds":            {"", "a table of names"},
		"internal/model/provider":         {"internal/model/kinds internal/proc/keys internal/login internal/model internal/model/wire internal/model/openai internal/model/anthropic", "which provider speaks which wire, and how"},
		"internal/model/replay":           {"internal/model", "one wire, of recordings"},
		"internal/model/script":           {"internal/model internal/money internal/proc/clock", "one wire, of files"},
		"internal/testing/wiretest":       {"internal/model internal/model/script internal/money internal/dev/nightly", "a server for tests"},
		"internal/app/fault":              {"internal/event tasks/problem", "an error and its kind, without knowing who reports it"},
		"internal/app/world":              {"internal/app/fault internal/event internal/gitops/gitdir internal/gitops/signing internal/model/kinds internal/proc internal/proc/clock internal/text/redact report report/telemetry runner/admission tasks", "what the process around a use case has; it runs nothing"},
		"internal/app/machine":            {"internal/app/fault internal/app/world internal/event internal/files internal/text/figures tasks", "what every run needs of this machine, without knowing what it does"},
		"internal/app/pricetable":         {"internal/app/fault internal/app/world internal/event internal/files internal/prices internal/prices/dataset internal/text/figures internal/text/printable", "the prices that the user has downloaded; no run is priced here"},
		"internal/app/planned":            {"internal/extension/jshost internal/sandbox internal/text/printable runner/confinement tasks internal/app/ci internal/app/world internal/permission internal/text/figures internal/view", "what a plan will start, as data and text; it starts nothing"},
		"internal/app/doctor":             {"internal/app/fault internal/app/machine internal/app/models internal/app/planned internal/app/pricetable internal/app/world internal/ecosystem internal/event internal/files/pathtree internal/forge/credentials internal/model/kinds internal/permission/policy internal/prices internal/proc internal/rundir internal/sandbox internal/text/figures internal/text/printable internal/view tasks tasks/manifest", "what works on this machine; it runs no job and asks no network"},
		"internal/app/planned/outlook":    {"internal/app/checks internal/app/fault internal/app/forges internal/app/load internal/app/models internal/app/planned internal/app/world internal/ecosystem internal/event internal/money internal/permission internal/permission/policy internal/text/figures internal/text/printable runner/admission runner/preflight tasks report/rollouttext internal/app/repos", "what a run would do, without doing it; it knows no flags"},
		"internal/app/toolbox":            {"internal/app/fault internal/app/load internal/app/machine internal/app/models internal/app/world internal/event internal/extension internal/extension/hook internal/files internal/files/abandon internal/files/sharedfile internal/files/workspace internal/forge/credentials internal/gitops internal/gitops/gitdir internal/permission internal/proc internal/rundir internal/sandbox internal/text/figures internal/text/printable runner/confinement runner/jsprogram tasks tasks/expand tasks/problem tools tools/outputs tools/change tools/media tools/skill tools/websearch internal/extension/lsp internal/app/levels internal/app/checks", "single calls of tools and their list, outside of runs; it knows no flags"},
		"internal/app/forges":             {"internal/app/fault internal/app/world internal/event internal/forge internal/forge/credentials tasks internal/forge/credentials/apis", "requests to forges with the credentials of a plan; it decides nothing about pull requests"},
		"internal/app/savedrun":           {"internal/app/fault internal/app/world internal/event internal/files internal/gitops/signing internal/journal internal/rundir report report/transcript runner/history tasks internal/text/printable", "what a saved run has left; it starts none"},
		"internal/app/archive":            {"internal/app/fault internal/app/world internal/event internal/money internal/rundir internal/text/figures internal/text/printable internal/app/savedrun", "which runs are saved, and which are removed; it changes none that it leaves"},
		"internal/app/shown":              {"internal/app/fault internal/app/savedrun internal/app/world internal/event internal/journal internal/money internal/proc internal/rundir internal/text/figures internal/text/printable internal/text/textcut internal/view report report/html report/telemetry report/transcript tasks/problem report/junit report/sarif report/summary", "saved runs as texts and documents; it changes nothing"},
		"internal/app/patterns/compared":  {"internal/app/shown internal/app/world internal/event internal/rundir internal/text/figures internal/text/markdown internal/text/printable internal/text/textcut report report/excerpt internal/app/patterns", "what changes of a saved run share; it changes nothing"},
		"internal/app/audit":              {"internal/app/audit/verification internal/app/fault internal/app/forges internal/app/world internal/event internal/gitops internal/gitops/gitdir internal/gitops/remote internal/gitops/signing internal/rundir internal/text/printable tasks", "what proves a saved run, read and printed; it writes only mirrors of repositories"},
		"internal/app/audit/verification": {"internal/event internal/gitops/signing report report/evidence", "whether evidence is that of its events; it opens no repositories"},
		"internal/app/pulls":              {"internal/app/fault internal/app/forges internal/app/savedrun internal/app/world internal/event internal/forge internal/gitops internal/gitops/remote internal/permission/policy internal/permission/reach internal/rundir internal/sandbox internal/text/figures internal/text/printable internal/text/redact report runner/history runner/publish runner/savedjob tasks internal/forge/credentials/apis", "pull requests of a saved run; it starts no session and knows no flags"},
		"internal/app/pulls/manage":       {"internal/app/fault internal/app/load internal/app/pulls internal/app/savedrun internal/app/world internal/event internal/rundir internal/text/printable runner/history tasks tasks/manifest internal/app/invocation", "opens the pull requests of a saved run with its credentials; what an order does is in package pulls"},
		"internal/app/queue/queued":       {"internal/app/fault internal/app/merge internal/app/queue internal/app/world internal/event internal/files internal/money internal/proc/clock internal/rundir internal/text/figures internal/text/printable report tasks", "what a queue holds of one run, checked; it runs no job"},
		"internal/app/queue/submission":   {"internal/app/checks internal/app/fault internal/app/forges internal/app/load internal/app/models internal/app/queue internal/app/queue/queued internal/app/world internal/event internal/permission/policy internal/text/figures internal/text/printable runner tasks tasks/problem runner/site internal/app/ci internal/app/repos", "a plan becomes jobs of a queue; it runs none"},
		"internal/app/merge":              {"internal/app/fault internal/app/world internal/event internal/rundir internal/view report report/summary", "reports of one run from those of its parts; it runs no job"},
		"internal/app/queue/worker":       {"internal/app/fault internal/app/load internal/app/machine internal/app/models internal/app/queue internal/app/queue/queued internal/app/runs internal/app/world internal/event internal/files internal/permission/policy internal/proc/clock internal/rundir internal/sandbox internal/text/figures internal/text/printable internal/view report runner/history runner/preflight tasks tasks/expand tasks/manifest tasks/problem internal/app/levels internal/app/invocation internal/app/checks", "jobs of a queue are run here; it knows no command line"},
		"runner/admission":                {"tasks internal/event internal/money", "what a run asks before it starts a job; it decides nothing"},
		"internal/app/forecast":           {"internal/event internal/money runner/admission", "a bound follows from costs alone"},
		"internal/app/waves/rollout":      {"tasks internal/event runner/admission internal/money", "which jobs are next follows from a plan and what earlier runs did; it reads nothing"},
		"internal/money":                  {"", "amounts, arithmetic and budgets, below everything that costs something"},
		"internal/money/daily":            {"internal/files/filelock internal/files internal/money", "the budget of a day is in files that processes share"},
		"internal/permission":             {"internal/files/pathglob", "a decision follows from profile and request alone"},
		"internal/permission/suggest":     {"internal/text/figures internal/files/pathtree internal/permission internal/text/printable", "a profile follows from what calls need; it reads no runs"},
		"internal/permission/policy":      {"internal/permission internal/permission/reach internal/money internal/files/pathtree", "what an operator allows; package tasks reads its files, as they are YAML"},
		"internal/app/models":             {"internal/model/kinds internal/files internal/proc/keys internal/login tasks internal/event internal/permission/policy internal/prices internal/model internal/model/provider internal/model/replay internal/model/script internal/money internal/app/fault internal/app/pricetable internal/app/world internal/model/opened", "it opens the models of a plan for the runner"},
		"internal/prices":                 {"internal/money", "a table and arithmetic"},
		"internal/prices/dataset":         {"internal/model/kinds internal/prices", "it makes the table from what others publish; no run uses it"},
		"internal/prices/generate":        {"internal/prices/dataset", "the program of go generate"},
		"internal/proc":                   {"internal/files/diskusage internal/proc/clock", "processes, without policy"},
		"internal/session/prompt":         {"internal/text/textcut", "text"},
		"internal/sandbox":                {"internal/files/dirent internal/proc internal/sandbox/child internal/sandbox/gocache internal/files/pathtree internal/proc/clock", "confinement, without policy"},
		"internal/dev/nightly":            {"", "how much of a long test is run, for the tests of other packages"},
		"internal/testing/faults":         {"", "runs that are disturbed, for tests only"},
		"internal/proc/failpoint":         {"", "names of moments, for tests only"},
		"internal/testing/corpus":         {"", "a list of attacks for the tests of other packages"},
		"internal/dev/house/words":        {"", "a scan of texts, for the test of the project's words"},
		"internal/sandbox/child":          {"internal/sandbox/linux", "what runs inside of a sandbox, before everything else"},
		"internal/sandbox/gocache":        {"", "a protocol over two directories"},
		"internal/sandbox/linux":          {"", "names for calls of the kernel"},
		"internal/sandbox/proxy":          {"", "a way out, without policy"},
		"internal/journal":                {"internal/event internal/model internal/proc/failpoint", "a file of one session, without the session"},
		"internal/session":                {"internal/text/figures internal/journal internal/text/jsontext internal/model internal/text/redact internal/text/schema tools internal/permission internal/event internal/money internal/session/textcall internal/text/textcut internal/proc/failpoint", "the loop and nothing else"},
		"internal/files/workspace":        {"internal/files/owner internal/text/textcut", "paths, without policy"},
		"internal/text/redact":            {"", "texts"},
		"internal/files":                  {"internal/proc/failpoint internal/files/owner", "two kinds of paths, without knowing what is written"},
		"internal/gitops/signing":         {"", "a key and its signatures, without knowing what is signed"},
		"internal/rundir":                 {"internal/gitops/gitdir internal/gitops/signing internal/journal internal/proc report/transcript report report/html internal/event internal/text/figures internal/files/filelock internal/text/printable internal/files internal/sandbox internal/money internal/proc/failpoint internal/proc/clock internal/files/sharedfile report/evidence tools/outputs report/junit report/sarif report/summary", "what a run leaves on the disk; it runs no job"},
		"report/evidence":                 {"internal/event internal/money report internal/event/trailers", "what proves a run, from its files; it knows neither git nor keys"},
		"internal/ecosystem":              {"internal/permission/reach", "a table, names of files, and settings of the user; it runs nothing"},
		"internal/permission/reach":       {"", "which hosts and addresses a list allows; it looks up and dials nothing"},
		"tools/web":                       {"internal/permission/reach", "guarded HTTP, without policy"},
		"internal/files/filelock":         {"internal/proc/clock", "locks, without knowing what they protect"},
		"internal/testing/oracle":         {"", "OpenCode's decisions, for tests only: it shares nothing with what it checks"},
		"internal/text/frontmatter":       {"", "heads of Markdown files"},
		"internal/ecosystem/envfault":     {"internal/text/textcut", "a table of texts; it runs nothing"},
		"internal/ecosystem/failures":     {"internal/text/textcut", "a table of texts and an excerpt; it runs nothing"},
		"internal/proc/keys":              {"internal/proc internal/text/textcut", "keys of providers and git hosts, without knowing their protocols"},
		"internal/session/textcall":       {"", "a pure core: what models write where they should call"},
		"internal/text/findings":          {"internal/text/figures internal/text/unidiff", "what a review reports, for manifests, reports and comments"},
		"internal/text/figures":           {"", "texts of numbers"},
		"internal/text/linediff":          {"", "two texts as lines, without knowing where they are from"},
		"internal/text/unidiff":           {"", "texts of diffs, without knowing what was compared"},
		"internal/forge/githubapp":        {"internal/forge", "the protocol of a GitHub App, without knowing who needs its tokens"},
		"internal/testing/githubapptest":  {"", "a server for tests"},
		"internal/text/jsontext":          {"", "texts"},
		"internal/extension/lsp":          {"internal/files/pathtree internal/proc internal/text/jsontext internal/text/textcut", "servers of a workspace and what they find in files, without knowing sessions or who may read what"},
		"internal/testing/lsptest":        {"", "a server for tests"},
		"internal/extension/mcp":          {"internal/proc internal/text/textcut internal/proc/clock", "servers and their tools, without knowing sessions or who allows calls"},
		"internal/extension/hook":         {"internal/event internal/proc internal/text/redact internal/text/textcut tasks tools internal/text/terminal", "what hooks are told and may decide, without knowing how they are confined"},
		"internal/extension":              {"internal/event internal/extension/jshost internal/extension/lsp internal/extension/mcp internal/model internal/permission internal/proc internal/text/jsontext internal/text/textcut tasks tools", "which servers a job needs and what they offer, without knowing how they are confined"},
		"internal/testing/mcptest":        {"", "a server for tests"},
		"internal/extension/jshost":       {"internal/files/pathtree internal/permission internal/proc internal/text/jsontext internal/text/textcut", "compiles and runs tool files and plugins, without knowing sessions or what a profile allows"},
		"internal/files/pathglob":         {"", "patterns of paths, without knowing who wrote them"},
		"internal/files/pathtree":         {"", "names of paths, without the file system"},
		"internal/files/userfile":         {"", "paths and files of users, without knowing what they are for and what policies allow"},
		"internal/proc/clock":             {"", "a wait, without knowing for what"},
		"internal/proc/collection":        {"", "must be initialized before the larger packages, so it imports none of them"},
		"internal/files/abandon":          {"", "a wait, without knowing for what"},
		"internal/files/diskusage":        {"internal/files/pathtree internal/text/figures", "how much directories grow; it ends no command"},
		"internal/files/dirent":           {"", "entries of open directories, without knowing what they are read for"},
		"internal/files/owner":            {"", "the owner of a new file, without knowing what it is for"},
		"internal/app/queue":              {"internal/event internal/proc/failpoint internal/money internal/proc/clock", "jobs, their logs, results and leases on a server, without knowing how a job is run"},
		"internal/testing/queuetest":      {"", "a server for tests"},
		"internal/testing/runtest":        {"internal/app/invocation internal/app/option internal/event", "options of runs, for tests"},
		"internal/testing/reporttest":     {"internal/event internal/money report", "events, texts and reports for tests"},
		"report/transcript":               {"internal/event internal/text/figures internal/journal internal/model internal/money internal/text/printable internal/text/textcut report", "a session as text, from what its journal and the report have"},
		"report/junit":                    {"internal/event internal/money internal/text/figures internal/text/printable report report/excerpt report/xmldoc report/jsonlayout", "a format follows from the report alone"},
		"report/jsonlayout":               {"internal/text/printable", "the layout of JSON texts; it knows no reports"},
		"report/rollouttext":              {"internal/event internal/money internal/text/figures", "a rollout in words; it decides nothing about waves"},
		"report/summary":                  {"internal/event internal/money internal/text/figures internal/text/markdown internal/text/printable report report/excerpt report/jsonlayout report/rollouttext", "texts for people follow from the report and a patch that they are given"},
		"report/sarif":                    {"internal/event internal/text/findings internal/text/printable report", "a format follows from the report alone"},
		"report/excerpt":                  {"", "it knows texts only"},
		"report/packing":                  {"", "it knows texts only"},
		"report/xmldoc":                   {"internal/text/printable", "it knows elements only"},
		"internal/app/patterns":           {"internal/ecosystem/testcases internal/text/textcut internal/text/unidiff", "edits follow from patches alone; it reads no files and knows no report"},
		"internal/ecosystem/testcases":    {"internal/text/figures internal/text/textcut", "tests in texts, without files and runs"},
		"internal/text/textcut":           {"", "texts"},
		"internal/text/schema":            {"", "JSON Schemas, without knowing what they describe"},
		"internal/text/printable":         {"internal/text/textcut", "texts"},
		"internal/text/terminal":          {"", "output of programs, without knowing who reads it"},
		"internal/testing/e2e/scripts":    {"internal/testing/lsptest internal/testing/mcptest internal/testing/forgetest internal/testing/gittest internal/command internal/app/world internal/proc/signals internal/testing/githubapptest internal/testing/logintest internal/model internal/model/script internal/testing/wiretest internal/money internal/dev/nightly internal/testing/queuetest internal/permission/reach internal/sandbox internal/testing/telemetrytest", "commands of scripts, for end-to-end tests"},
		"report/telemetry":                {"internal/model/kinds internal/event internal/text/figures internal/money internal/text/printable report", "spans and metrics follow from the report alone; it gets the addresses that it sends them to"},
		"internal/testing/telemetrytest":  {"", "a server for tests"},
		"internal/view":                   {"internal/event internal/text/figures internal/text/printable internal/money internal/permission", "a log follows from the events alone; permission lists the tools"},
		"internal/testing/viewtest":       {"", "a terminal for tests"},
		"internal/files/sharedfile":       {"", "files and directories, without knowing what git keeps in them"},
		"internal/gitops/objectdb":        {"internal/files/filelock internal/files/owner internal/files/sharedfile internal/proc/clock", "objects that are read, without references and working trees"},
		"internal/testing/tooltest":       {"internal/extension/lsp internal/files internal/files/workspace internal/permission internal/proc tools tools/change tools/skill tools/websearch tools/command", "a workspace and calls of tools in it, for tests"},
		"tools/cut":                       {"internal/text/textcut", "texts that are shortened, without knowing whose they are"},
		"tasks/manifest/repolist":         {"internal/files/pathglob internal/permission internal/permission/policy internal/permission/reach tasks tasks/form tasks/problem internal/files/userfile", "where repositories are, with their positions; it opens none and asks no forge"},
	}
}

// homes lists the libraries that must not spread, and the packages that may
// import them.
func homes() map[string]string {
	return map[string]string{
		"github.com/openai/openai-go/v3":                    "internal/model/openai",
		"github.com/anthropics/anthropic-sdk-go":            "internal/model/anthropic",
		"github.com/google/go-github/v88":                   "internal/forge/github internal/forge/githubapp",
		"github.com/bradleyfalzon/ghinstallation/v2":        "internal/forge/githubapp",
		"code.gitea.io/sdk/gitea":                           "internal/forge/gitea",
		"gitlab.com/gitlab-org/api/client-go/v2":            "internal/forge/gitlab",
		"github.com/golang-jwt/jwt/v4":                      "internal/forge/githubapp",
		"github.com/aws":                                    "internal/login internal/testing/logintest internal/model/anthropic internal/model/provider",
		"github.com/Azure":                                  "internal/login",
		"github.com/go-git/go-git/v5":                       "internal/gitops internal/gitops/content internal/gitops/gitdir internal/gitops/objectdb internal/gitops/remote internal/gitops/state internal/gitops/store",
		"golang.org/x/crypto":                               "internal/gitops/remote internal/gitops/signing",
		"github.com/ProtonMail/go-crypto":                   "internal/gitops/signing",
		"github.com/urfave/cli/v2":                          "internal/command",
		"gopkg.in/yaml.v3":                                  "tasks/form tasks/manifest tasks/manifest/repolist internal/model/script internal/text/frontmatter internal/app/opencode",
		"github.com/rs/zerolog":                             "internal/view",
		"github.com/bmatcuk/doublestar/v4":                  "internal/files/pathglob",
		"github.com/JohannesKaufmann/html-to-markdown/v2":   "tools/web",
		"golang.org/x/net/html":                             "tools/web",
		"golang.org/x/image":                                "tools/media",
		"mvdan.cc/sh/v3":                                    "tools/shell",
		"github.com/modelcontextprotocol/go-sdk":            "internal/extension/mcp",
		"github.com/evanw/esbuild":                          "internal/extension/jshost",
		"github.com/secure-systems-lab/go-securesystemslib": "internal/gitops/signing",
		"github.com/mattn/go-runewidth":                     "internal/view",
		"github.com/yuin/goldmark":                          "internal/text/markdown report/html",
		"maragu.dev/gomponents":                             "report/html",
		"github.com/sourcegraph/jsonrpc2":                   "internal/extension/lsp",
		"github.com/nats-io/nats.go":                        "internal/app/queue",
		"github.com/nats-io/nats-server/v2":                 "internal/testing/queuetest",
		"go.opentelemetry.io":                               "report/telemetry internal/testing/telemetrytest",
		"os/exec":                                           "internal/proc internal/gitops/gitdir internal/testing/gittest internal/testing/e2e/scripts",
		"github.com/santhosh-tekuri/jsonschema/v6":          "internal/text/schema",
		"github.com/google/jsonschema-go":                   "tools/arguments",
		"github.com/in-toto/attestation":                    "report/evidence",
	}
}

// wiring lists functions that take something from the process's surroundings:
// everything but the wiring gets it handed in, so that it can be tested and
// says what it depends on.
func wiring() []string {
	return []string{"http.ProxyFromEnvironment", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Exit", "os.Getwd", "os.Chdir", "time.Now", "time.Since"}
}

// TestPackagesImportOnlyWhatTheLawAllows checks imports by rooms and homes. It is not depguard of golangci-lint, which passes a package
// without a list, a list without a package and an entry that nothing needs, and prints no reason for what is
// missing in a list. It knows no order of packages either (TestNoPackageImportsAWingAboveItsOwn).
func TestPackagesImportOnlyWhatTheLawAllows(t *testing.T) {
	law, lib, used := rooms(), homes(), map[string]bool{}
	for dir, files := range sources(t) {
		room, known := law[dir]
		if !known {
			t.Errorf("package %s has no line in the import law: add one, with its reason, here", dir)
			continue
		}
		used[dir] = true
		imports := map[string]bool{}
		for name, file := range files {
			for _, spec := range file.Imports {
				imports[checkImport(t, dir, name, spec, room, lib)] = true
			}
		}
		for allowed := range strings.FieldsSeq(room.imports) {
			if allowed != "anything" && !imports[allowed] {
				t.Errorf("the import law lets %s import %s, which it does not", dir, allowed)
			}
		}
	}
	for dir := range law {
		if !used[dir] {
			t.Errorf("the import law has a line for %s, which does not exist", dir)
		}
	}
}

// TestTheMapNamesWhatExists checks the files and directories that ARCHITECTURE.md names.
func TestTheMapNamesWhatExists(t *testing.T) {
	names := regexp.MustCompile("`((?:internal|runner|tasks|tools|report|docs)/[\\w./-]+)`").FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1)
	if len(names) < 50 {
		t.Errorf("only %d names found", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(strings.Replace(name[1], "NAME", "bash", 1)); err != nil {
			t.Errorf("ARCHITECTURE.md: %v", err)
		}
	}
}

// checkImport compares an import with the law, and returns the package of the project that it is of, "" for others.
func checkImport(t *testing.T, dir, name string, spec *ast.ImportSpec, r room, lib map[string]string) string {
	t.Helper()
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		t.Fatal(err)
	}
	if local, ok := strings.CutPrefix(imported, module+"/"); ok {
		if !slices.Contains(strings.Fields(r.imports), local) {
			t.Errorf("%s: %s may not import %s: %s", name, dir, local, r.because)
		}
		return local
	}
	for prefix, home := range lib {
		if (imported == prefix || strings.HasPrefix(imported, prefix+"/")) && !slices.Contains(strings.Fields(home), dir) {
			t.Errorf("%s: %s is imported outside of its home (%s)", name, imported, home)
		}
	}
	return ""
}

func TestEnvironmentIsInjected(t *testing.T) {
	forbidden := wiring()
	for dir, files := range sources(t) {
		if dir == "." || dir == "internal/command" || dir == "internal/testing/wiretest" || dir == "internal/dev/nightly" || dir == "internal/testing/gittest" || dir == "internal/testing/tooltest" || dir == "internal/testing/logintest" || dir == "internal/testing/sitetest" || dir == "internal/testing/e2e/scripts" || dir == "internal/prices/generate" {
			continue
		}
		for name, file := range files {
			for used := range qualified(file) {
				if slices.Contains(forbidden, used) {
					t.Errorf("%s uses %s: take it as a parameter", name, used)
				}
			}
		}
	}
}

// What commands may access outside of the workspace, and whether that exposes private files, is
// decided in one file.
func TestRulesBecomeGrantsInOneFile(t *testing.T) {
	const home = "runner/confinement/grants.go"
	uses := map[string]int{}
	for _, files := range sources(t) {
		for name, file := range files {
			for used := range qualified(file) {
				if used == "sandbox.NewGrant" {
					uses[name]++
				}
			}
		}
	}
	for name := range uses {
		if name != home {
			t.Errorf("%s uses sandbox.NewGrant, which only %s may", name, home)
		}
	}
	if uses[home] == 0 {
		t.Errorf("%s does not use sandbox.NewGrant", home)
	}
}

// qualified returns the names of other packages that a file uses, such as "os.Getenv".
func qualified(file *ast.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		more := true
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && more {
				if pkg, ok := sel.X.(*ast.Ident); ok {
					more = yield(pkg.Name + "." + sel.Sel.Name)
				}
			}
			return more
		})
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	for dir, files := range sources(t) {
		documented := slices.ContainsFunc(slices.Collect(maps.Values(files)), func(f *ast.File) bool { return f.Doc != nil })
		if !documented {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

func TestTheTopLevelShowsTheProduct(t *testing.T) {
	allowed := strings.Fields("runner tasks tools report examples internal docs")
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("directory %s at the top level: everything but the product's nouns goes under internal/", e.Name())
		}
	}
}

// sources returns the non-test Go files of the module, by directory.
func sources(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	all, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parseSources parses the files for all tests.
var parseSources = sync.OnceValues(func() (map[string]map[string]*ast.File, error) {
	all := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "examples" || d.Name() == "bench" || d.Name() == "mutate") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		if all[dir] == nil {
			all[dir] = map[string]*ast.File{}
		}
		all[dir][name] = file
		return nil
	})
	return all, err
})
