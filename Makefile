# Everything a developer or CI runs. `make check` is what CI runs.

GOLANGCI_LINT_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
KILLS ?= 120
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The embedded Temporal server is never built with -race: that alone would take
# longer than all tests. Packages that import it are tested without.
PACKAGES  = $(shell go list ./...)
WITH_ENGINE = $(shell go list -test -f '{{$$p := .ImportPath}}{{range .Deps}}{{if eq . "picobot/internal/engine"}}{{$$p}} {{end}}{{end}}' ./... | tr ' ' '\n' | sed -e 's/\.test$$//' -e 's/_test$$//' -e 's/\[.*//' | sort -u) picobot/internal/engine
WITHOUT_ENGINE = $(filter-out $(WITH_ENGINE),$(PACKAGES))

# These are clients of the binary, one package at a time: side by side they would
# measure each other. They share one binary: linking it takes half a minute.
OF_THE_BINARY = $(filter picobot/cli/e2e%,$(WITHOUT_ENGINE))

# SQLite is C that was translated to Go. It keeps its memory outside of Go's heap,
# where the race detector sees nothing, and instrumenting it took two thirds of the
# time of the tests with -race. Only packages that instantiate no generic code may
# stand here (so not modernc.org/sqlite, the driver): an instance without
# instrumentation would be linked for all packages.
UNRACED = modernc.org/sqlite/lib modernc.org/libc modernc.org/memory
RACE = -race $(foreach p,$(UNRACED),-gcflags='$(p)=-race=false -d=checkptr=0')

# What `make release` builds for, GOOS/GOARCH.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
# Nothing in these runs beside anything else, and under -race they compute for minutes.
ALONE = picobot/internal/schedule

.PHONY: build test lint bench check crash fuzz release clean

build: ## the binary, ./picobot
	go build -ldflags '-X picobot/cli.version=$(VERSION)' -o picobot .

test: ## all tests; -race wherever the embedded server is not part of it and the tests are more than clients
	RAPID_CHECKS=20 go test $(RACE) -shuffle=on -timeout 15m $(filter-out $(OF_THE_BINARY) $(ALONE),$(WITHOUT_ENGINE))
	go test -shuffle=on -timeout 15m $(sort $(WITH_ENGINE)) $(ALONE)
	go test -shuffle=on -timeout 15m -run 'Any' ./store
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go build -o "$$dir/picobot" . && \
		PICOBOT_BIN="$$dir/picobot" go test -p 1 -shuffle=on -timeout 15m $(OF_THE_BINARY)

lint: bin/golangci-lint bin/workflowcheck ## formatting, vet, the layers, determinism of workflows
	go vet ./...
	go vet -tags crash ./cli/e2e/crash
	bin/golangci-lint run --build-tags crash ./...
	bin/workflowcheck ./workflows/...

bench: ## benchmarks; each says what it is compared with, docs/performance.md says how to read them
	go test -run '^$$' -bench . -benchmem $(filter-out picobot/e2e picobot/cli/e2e/load,$(PACKAGES))
	go test -run '^$$' -bench 'OneTool$$' -benchtime 50x ./e2e
	go test -run '^$$' -bench '16Sessions' -benchtime 10x -timeout 20m ./e2e
	go test -run '^$$' -bench 'History|Waiting' -benchtime 1x ./e2e
	go test -run '^$$' -bench 'Ack|Start|FirstToken' -benchtime 30x ./cli/e2e/load
	go test -run '^$$' -bench 'Chats|Flood' -benchtime 2x ./cli/e2e/load

crash: ## kill -9 more than a hundred times, mid delivery too; lost and rolled back engine files, a machine that sleeps
	go test -tags crash -count=1 -v -timeout 60m ./cli/e2e/crash -args -kills $(KILLS)
	go test -count=1 -v -timeout 20m -run TestKilledMidDelivery ./e2e -args -delivery-kills 30

fuzz: ## every fuzz target for a short while
	./scripts/fuzz.sh 20s

check: build lint test ## what CI runs

# Other flags than those of everyday builds, and other systems: the Temporal server is
# compiled again for each, which takes minutes.
release: ## stripped static binaries and their checksums, in dist/
	rm -rf dist && mkdir dist
	set -e; for p in $(PLATFORMS); do \
		out=dist/picobot_$(VERSION)_$${p%/*}_$${p#*/}; \
		echo "$$out"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -ldflags '-s -w -X picobot/cli.version=$(VERSION)' -o "$$out" .; \
	done
	cd dist && sha256sum picobot_* > SHA256SUMS

bin/golangci-lint:
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

bin/workflowcheck:
	GOBIN=$(CURDIR)/bin go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

clean:
	rm -rf picobot bin dist
