# Every target is one plain command; building and testing need none of them.
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0
FUZZTIME ?= 5m

.PHONY: help build test race lint golden fuzz bench nightly quickstart
help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

build: ## build ./millhand
	CGO_ENABLED=0 go build -trimpath -o millhand .

test: ## run the tests
	go test ./...

race: ## run the tests with the race detector
	CGO_ENABLED=1 go test -race -timeout=30m ./...

lint: ## run the linters
	$(GOLANGCI_LINT) run ./...

quickstart: ## run the first example
	go run . run examples/quickstart/millhand.yaml

golden: ## write the golden files anew
	go test ./internal/command ./report ./tasks ./tools -update

fuzz: ## fuzz every target for FUZZTIME each
	FUZZTIME=$(FUZZTIME) .ci/fuzz

bench: ## measure millhand against a bare loop and git; see docs/figures.md
	go run ./internal/bench

nightly: ## what is too long for every change: long tests, all fuzz targets, repeated race tests, the figures
	MILLHAND_NIGHTLY=1 go test -count=1 -run 'Exchanged|ManyCommands' ./tools ./internal/sandbox
	CGO_ENABLED=1 go test -race -count=3 -timeout=60m ./...
	FUZZTIME=$(FUZZTIME) .ci/fuzz
	go run ./internal/bench
