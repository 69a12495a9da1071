# Every target is one plain command; building and testing need none of them.
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0
FUZZTIME ?= 5m
PKG ?= ./runner
SEED ?= 1

.PHONY: help check check-portable build test race lint golden cross fuzz mutate bench nightly quickstart
help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

check: ## what every change must pass; CI runs the same
	.ci/run

check-portable: ## what must pass on systems without kernel confinement
	.ci/portable

build: ## build ./millhand
	CGO_ENABLED=0 go build -trimpath -o millhand .

test: ## run the tests
	go test ./...

race: ## run the tests with the race detector
	CGO_ENABLED=1 go test -race -timeout=30m ./...

lint: ## run the linters
	$(GOLANGCI_LINT) run ./...
	go test ./internal/house/...

quickstart: ## run the first example
	go run . run examples/quickstart/millhand.yaml

golden: ## write the golden files again, and delete those without a test
	.ci/golden

cross: ## vet for all platforms
	.ci/cross

fuzz: ## fuzz every target for FUZZTIME each
	FUZZTIME=$(FUZZTIME) .ci/fuzz

mutate: ## remove random statements of PKG, one at a time, and count those that its tests miss
	go run ./internal/house/mutate -seed $(SEED) $(PKG)

bench: ## measure millhand against a bare loop and git; see docs/figures.md
	go run ./internal/bench

nightly: ## what is too long for every change: long tests, all fuzz targets, repeated race tests, the figures
	MILLHAND_NIGHTLY=1 go test -count=1 -run 'Exchanged|ManyCommands' ./tools ./internal/sandbox
	MILLHAND_NIGHTLY=1 go test -count=1 -timeout=60m ./internal/e2e ./internal/model/openai ./internal/model/anthropic
	CGO_ENABLED=1 go test -race -count=3 -timeout=60m ./...
	FUZZTIME=$(FUZZTIME) .ci/fuzz
	go run ./internal/bench
