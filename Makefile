# Each target is one plain command; building and testing require none of them.
FUZZTIME ?=
PKG ?= ./runner
SEED ?=
FULL ?=

.PHONY: help packages check check-portable build test quick slow race lint golden cross fuzz mutate bench nightly nightly-trust nightly-faults nightly-resume nightly-kernel nightly-types nightly-published nightly-publish nightly-release quickstart site
help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

check: ## run the checks required for every change; CI runs the same
	.ci/run

check-portable: ## run the checks for systems without kernel confinement
	.ci/portable

build: ## build ./millhand
	CGO_ENABLED=0 go build -trimpath -o millhand .

test: ## run the tests
	go test ./...

quick: ## run the short tests of what has changed since BASE (main), by the import graph
	.ci/quick $(BASE)

slow: ## print the packages by the CPU time of their tests, or the tests of PKG=DIR
	.ci/slow $(if $(filter command line,$(origin PKG)),$(PKG))

race: ## run the tests with the race detector
	CGO_ENABLED=1 go test -race -timeout=30m ./...

lint: ## run the linters
	.ci/lint
	go test ./internal/dev/house/...

quickstart: ## run the first example
	go run . run examples/quickstart/millhand.yaml

site: ## make a website of the documents in docs/.vitepress/dist; needs Node.js
	.ci/site

golden: ## regenerate the golden files, and delete those without a test
	.ci/golden

packages: ## list what each package owns, from its doc comment
	@go list -f '{{if .Doc}}{{.ImportPath}}: {{.Doc}}{{end}}' ./... | sed "s#^$$(go list -m)/##"

cross: ## vet for all platforms
	.ci/cross

fuzz: ## fuzz every target for FUZZTIME (20s) each
	FUZZTIME=$(or $(FUZZTIME),20s) .ci/fuzz

mutate: ## remove random statements of PKG, one at a time, and count those that its tests miss
	go run ./internal/dev/house/mutate -seed $(or $(SEED),1) $(PKG)

bench: ## measure millhand against a bare loop and git; see docs/figures.md
	go run ./internal/dev/bench

nightly: nightly-trust nightly-resume nightly-types nightly-published ## run the long tests; SEED=N repeats the random cases of a run, FULL=1 runs more of them
	.ci/cross
	.ci/golden && git diff --exit-code
	CGO_ENABLED=1 go test -race -count=3 -timeout=60m $$(go list ./... | grep -v '/testing/e2e$$')
	CGO_ENABLED=1 go test -race -timeout=120m ./internal/testing/e2e # its scripts take 40 minutes on two processors
	go run ./internal/dev/bench

NIGHTLY = MILLHAND_NIGHTLY=1 SEED=$(SEED) FULL=$(FULL) go test -count=1
# Parsers of texts from models and repositories are fuzzed for longer, the others briefly.
FUZZED = tools/shell tools/patch internal/permission internal/model internal/gitops/gitdir internal/gitops/objectdb tasks

nightly-trust: ## kills, signals, full disks, faults of providers and of git, the sandbox, fuzzing, Linux 6.1
	$(MAKE) -j2 --output-sync nightly-faults nightly-kernel # both wait more than they compute
	$(NIGHTLY) -timeout=120m ./internal/gitops ./internal/gitops/state ./internal/gitops/remote ./internal/app/queue ./internal/session ./report ./internal/app/patterns ./tasks/expand ./tools ./tools/shell ./internal/sandbox ./internal/app/audit/verification ./internal/dev/house ./internal/testing/oracle $$(go list ./internal/testing/e2e/... | grep -v -e /gitea -e /published) ./internal/model/openai ./internal/model/anthropic
	MILLHAND_NIGHTLY=1 .ci/another
	FUZZTIME=$(or $(FUZZTIME),$(if $(FULL),10m,2m)) .ci/fuzz $(FUZZED)
	FUZZTIME=$(or $(FUZZTIME),10s) .ci/fuzz $(FUZZED:%=':!%')

nightly-types: ## compile requests as the types of the providers' SDKs; needs Node.js
	npm install --silent --no-save --ignore-scripts --prefix .sdks openai@7.57.0 @anthropic-ai/sdk@1.12.0 typescript@5.9.3 @types/node@20.19.0
	MILLHAND_SDKS=$(CURDIR)/.sdks go test -count=1 -v -run TestRequestsHaveTheProvidersTypes ./internal/testing/e2e

nightly-published: ## MCP servers, language servers and plugins that others published, by version; needs Node.js and npm (2 minutes, once they are installed)
	$(NIGHTLY) -v -timeout=120m ./internal/testing/e2e/published

nightly-publish: ## 60 jobs on 20 real repositories, killed, resumed, and published on a real Gitea; builds it once (about 7 minutes)
	.ci/gitea
	$(NIGHTLY) -v -timeout=60m ./internal/testing/e2e/gitea

nightly-release: ## build a snapshot of the release twice, compare them, and run the quickstart with it; builds goreleaser once
	.ci/release

nightly-faults:
	$(NIGHTLY) -v -timeout=300m -skip '^TestBulk' ./internal/testing/faults

nightly-resume: ## kill, interrupt and resume a run of 20 jobs
	$(NIGHTLY) -v -timeout=300m -run '^TestBulk' ./internal/testing/faults

nightly-kernel:
	.ci/kernel -test.short
