# Needs Go, git and make; everything else is built from Go modules, once, into
# the user's cache. `make help` lists the targets.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

MODULE  := github.com/assay-dev/assay
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X $(MODULE)/internal/version.Version=$(VERSION)
# The image that `make deploy` installs.
IMG ?= ghcr.io/assay-dev/assay:$(VERSION)
# Further flags for go test, for example TESTFLAGS='-race -run TestDefaults'.
TESTFLAGS ?=

# Tools stand in the user's cache under a name that changes when what they are
# built from does: another version, another Go.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/assay-tools
GOVERSION := $(shell go env GOVERSION)
tool = $(TOOLS)/$(1)-$(shell cat hack/$(2)/go.mod hack/$(2)/go.sum | cksum | cut -d' ' -f1)-$(GOVERSION)
CONTROLLER_GEN := $(call tool,controller-gen,tools/controller-gen)
GOLANGCI_LINT  := $(call tool,golangci-lint,tools/golangci-lint)
PROMETHEUS     := $(call tool,prometheus,prometheus)
PROMTOOL       := $(call tool,promtool,prometheus)
ARGO_ROLLOUTS  := $(call tool,argo-rollouts,tools/argo-rollouts)
FLAGGER        := $(call tool,flagger,tools/flagger)

# Prints the folder with etcd, kube-apiserver and kubectl; builds them if it must.
CONTROLPLANE := go run ./hack/controlplane

##@ Use

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Show Assay at work on a control plane of its own, until Ctrl-C (ONCE=1: until the first verdict).
	@go build -o bin/demo ./hack/demo
	@exec bin/demo $(if $(ONCE),-once) # not by go run, which passes no signal on

.PHONY: build
build: ## Build bin/assay, static.
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/assay .

##@ Check

.PHONY: test
test: ## Run all tests but the end-to-end ones.
	assets=$$($(CONTROLPLANE)) && KUBEBUILDER_ASSETS=$$assets go test $(TESTFLAGS) ./...

.PHONY: e2e
e2e: build $(PROMETHEUS) $(PROMTOOL) $(ARGO_ROLLOUTS) $(FLAGGER) ## Run the end-to-end tests: a control plane, Prometheus, Argo Rollouts, Flagger and the binary.
	assets=$$($(CONTROLPLANE) -with kube-controller-manager) && \
	KUBEBUILDER_ASSETS=$$assets PROMETHEUS_BIN=$(PROMETHEUS) PROMTOOL_BIN=$(PROMTOOL) \
	ARGO_ROLLOUTS_BIN=$(ARGO_ROLLOUTS) FLAGGER_BIN=$(FLAGGER) ASSAY_BIN=$(CURDIR)/bin/assay \
	go test -tags e2e -count 1 -timeout 30m $(TESTFLAGS) ./test/e2e/...

.PHONY: bench
bench: ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./test/bench/...

.PHONY: verify
verify: verify-generated verify-tidy verify-kustomize lint ## Check all that a review should not have to.

.PHONY: verify-generated
verify-generated: $(CONTROLLER_GEN) ## Check that what is generated is what `make generate` makes.
	CONTROLLER_GEN=$(CONTROLLER_GEN) hack/verify-generated.sh

.PHONY: verify-tidy
verify-tidy: ## Check that go.mod and go.sum of every module are tidy.
	hack/verify-tidy.sh

.PHONY: verify-kustomize
verify-kustomize: ## Check that every kustomization builds.
	assets=$$($(CONTROLPLANE)) && PATH=$$assets:$$PATH hack/verify-kustomize.sh

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Check format, go vet, golangci-lint, and kube-api-linter on api/.
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then printf 'not formatted, run gofmt -w:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet -tags e2e ./...
	$(GOLANGCI_LINT) run ./...

##@ Change

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deep copies and CRDs from the types in api/.
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd/bases

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum of every module.
	hack/verify-tidy.sh -fix

##@ Install

.PHONY: install
install: ## Install the CRDs into the cluster of the current kubectl context.
	assets=$$($(CONTROLPLANE)) && PATH=$$PATH:$$assets kubectl apply --server-side -k config/crd

.PHONY: deploy
deploy: ## Install CRDs and operator, with the image IMG.
	assets=$$($(CONTROLPLANE)) && PATH=$$PATH:$$assets && hack/deploy.sh $(IMG) | kubectl apply --server-side -f -

.PHONY: undeploy
undeploy: ## Remove operator and CRDs, and with them every suite and run.
	assets=$$($(CONTROLPLANE)) && PATH=$$PATH:$$assets kubectl delete --ignore-not-found -k config/default

##@ Tools

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(PROMETHEUS) $(PROMTOOL) $(ARGO_ROLLOUTS) $(FLAGGER) ## Build every tool into the cache.

# $(call build-tool,FOLDER,PACKAGE,FLAGS): one at a time, and never half a file.
define build-tool
	@mkdir -p $(TOOLS)
	@echo "building $(notdir $@) from hack/$(1), once" >&2
	@cd hack/$(1) && CGO_ENABLED=0 GOWORK=off GOFLAGS=-buildvcs=false go build -p 2 $(3) -o $@.$$$$ $(2) && mv $@.$$$$ $@
endef

$(CONTROLLER_GEN):
	$(call build-tool,tools/controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen)

$(GOLANGCI_LINT):
	$(call build-tool,tools/golangci-lint,sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter)

# Without service discovery (the tests name their targets) and without the web
# page: neither is asked for, and both take long to build.
$(PROMETHEUS):
	$(call build-tool,prometheus,github.com/prometheus/prometheus/cmd/prometheus,-tags 'netgo remove_all_sd' -ldflags '-s -w')

$(PROMTOOL):
	$(call build-tool,prometheus,github.com/prometheus/prometheus/cmd/promtool,-tags 'netgo remove_all_sd' -ldflags '-s -w')

$(ARGO_ROLLOUTS):
	$(call build-tool,tools/argo-rollouts,github.com/argoproj/argo-rollouts/cmd/rollouts-controller,-ldflags '-s -w')

$(FLAGGER):
	$(call build-tool,tools/flagger,github.com/fluxcd/flagger/cmd/flagger,-ldflags '-s -w')
