# Needs Go, git and make; everything else is built from Go modules, once, into
# the user's cache. `make help` lists the targets.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

MODULE  := github.com/assay-dev/assay
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = $(shell hack/release/ldflags.sh '$(VERSION)' '$(COMMIT)' '$(DATE)')
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)$(if $(findstring -dirty,$(VERSION)),-dirty)
DATE    ?= $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
# The image that `make image` builds and `make deploy` installs.
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
HELM           := $(call tool,helm,tools/helm)
CYCLONEDX      := $(call tool,cyclonedx-gomod,tools/cyclonedx-gomod)
GOVULNCHECK    := $(call tool,govulncheck,tools/govulncheck)
BUILDKITD      := $(call tool,buildkitd,tools/buildkit)
BUILDCTL       := $(call tool,buildctl,tools/buildkit)

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
test: $(HELM) ## Run all tests but the end-to-end ones.
	assets=$$($(CONTROLPLANE)) && KUBEBUILDER_ASSETS=$$assets HELM_BIN=$(HELM) go test $(TESTFLAGS) ./...

.PHONY: e2e
e2e: build $(PROMETHEUS) $(PROMTOOL) $(ARGO_ROLLOUTS) $(FLAGGER) $(HELM) ## Run the end-to-end tests: a control plane, Prometheus, Argo Rollouts, Flagger, the binary, and what the connect pages name.
	assets=$$($(CONTROLPLANE) -with kube-controller-manager) && \
	KUBEBUILDER_ASSETS=$$assets PROMETHEUS_BIN=$(PROMETHEUS) PROMTOOL_BIN=$(PROMTOOL) \
	ARGO_ROLLOUTS_BIN=$(ARGO_ROLLOUTS) FLAGGER_BIN=$(FLAGGER) HELM_BIN=$(HELM) ASSAY_BIN=$(CURDIR)/bin/assay \
	go test -tags e2e -count 1 -timeout 30m $(TESTFLAGS) ./test/e2e ./test/connect
	@$(MAKE) --no-print-directory e2e-install e2e-docs

.PHONY: e2e-install
e2e-install: build $(HELM) ## Install the chart on a real one-node cluster and follow the quickstart (root on Linux; elsewhere it says that it is skipped).
	HELM_BIN=$(HELM) ASSAY_BIN=$(CURDIR)/bin/assay hack/cluster/run.sh \
	go test -tags e2e -count 1 -timeout 20m $(TESTFLAGS) ./test/e2e/install/...

.PHONY: e2e-docs
e2e-docs: build $(HELM) $(PROMTOOL) ## Type every command of the documentation on a real one-node cluster (root on Linux; elsewhere it says that it is skipped).
	HELM_BIN=$(HELM) PROMTOOL_BIN=$(PROMTOOL) ASSAY_BIN=$(CURDIR)/bin/assay hack/cluster/run.sh \
	go test -tags e2e -count 1 -timeout 30m $(TESTFLAGS) ./test/e2e/docs/...

.PHONY: e2e-release
e2e-release: $(HELM) $(CYCLONEDX) $(BUILDKITD) $(BUILDCTL) ## Make a release for this platform twice, and the image with BuildKit (root on Linux), and look at them.
	assets=$$($(CONTROLPLANE)) && \
	KUBEBUILDER_ASSETS=$$assets HELM_BIN=$(HELM) CYCLONEDX_BIN=$(CYCLONEDX) BUILDKITD_BIN=$(BUILDKITD) BUILDCTL_BIN=$(BUILDCTL) \
	go test -tags e2e -count 1 -timeout 60m $(TESTFLAGS) ./test/release/...

.PHONY: bench
bench: ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./test/bench/...

.PHONY: verify
verify: verify-generated verify-tidy verify-kustomize verify-chart verify-monitoring vulncheck lint ## Check all that a review should not have to.

.PHONY: verify-generated
verify-generated: $(CONTROLLER_GEN) ## Check that what is generated is what `make generate` makes.
	CONTROLLER_GEN=$(CONTROLLER_GEN) hack/verify-generated.sh

.PHONY: verify-tidy
verify-tidy: ## Check that go.mod and go.sum of every module are tidy.
	hack/verify-tidy.sh

.PHONY: verify-kustomize
verify-kustomize: ## Check that every kustomization builds.
	assets=$$($(CONTROLPLANE)) && PATH=$$assets:$$PATH hack/verify-kustomize.sh

.PHONY: verify-chart
verify-chart: $(HELM) ## Check that the chart has the CRDs and roles of config/, and that Helm finds no fault with it.
	HELM_BIN=$(HELM) hack/verify-chart.sh

.PHONY: verify-monitoring
verify-monitoring: $(PROMTOOL) ## Check that the alerts fire and resolve as they should, and that config/prometheus has the chart's rules and dashboard.
	PROMTOOL_BIN=$(PROMTOOL) hack/verify-monitoring.sh

.PHONY: vulncheck
vulncheck: $(GOVULNCHECK) ## Check that no known vulnerability can be reached, where the database can be.
	GOVULNCHECK=$(GOVULNCHECK) hack/vulncheck.sh

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Check format, go vet, golangci-lint, and kube-api-linter on api/.
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then printf 'not formatted, run gofmt -w:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet -tags e2e ./...
	$(GOLANGCI_LINT) run ./...

##@ Change

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deep copies and CRDs from the types in api/, the chart's copies of config/, the reference pages and the list of licences.
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	hack/chart-files.sh
	hack/monitoring-files.sh
	go run ./hack/reference docs/reference
	go run ./hack/licenses >docs/licenses.md.new && mv docs/licenses.md.new docs/licenses.md

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum of every module.
	hack/verify-tidy.sh -fix

.PHONY: licenses
licenses: ## Show under which licences the linked modules come; refuse those that are not allowed.
	@go run ./hack/licenses

##@ Release

.PHONY: release
release: $(HELM) $(CYCLONEDX) ## Build archives, SBOMs, chart, manifest and checksums into dist: make release VERSION=v0.1.0
	assets=$$($(CONTROLPLANE)) && PATH=$$assets:$$PATH go run ./hack/release -version '$(VERSION)' -helm $(HELM) -cyclonedx-gomod $(CYCLONEDX)

.PHONY: sbom
sbom: build $(CYCLONEDX) ## Write bin/assay.sbom.cdx.json, which modules bin/assay is made of.
	$(CYCLONEDX) bin -json -std -noserial -notimestamp -version '$(VERSION)' -output bin/assay.sbom.cdx.json bin/assay

# Into a file, for one machine can hold no image of two platforms.
.PHONY: image
image: ## Build the image IMG for linux/amd64 and linux/arm64, with SBOM and provenance, into dist/image.tar; PUSH=1 pushes it instead.
	@mkdir -p dist
	docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --provenance=mode=max \
	  --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' --build-arg DATE='$(DATE)' \
	  --tag '$(IMG)' --output $(if $(PUSH),type=registry,type=oci,dest=dist/image.tar) .

.PHONY: image-check
image-check: $(BUILDKITD) $(BUILDCTL) ## Build the Dockerfile with BuildKit alone, without Docker and registry, into dist/image.tar (root on Linux).
	@mkdir -p dist
	BUILDKITD=$(BUILDKITD) BUILDCTL=$(BUILDCTL) VERSION='$(VERSION)' COMMIT='$(COMMIT)' DATE='$(DATE)' hack/image/build.sh dist/image.tar

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
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(PROMETHEUS) $(PROMTOOL) $(ARGO_ROLLOUTS) $(FLAGGER) $(HELM) $(CYCLONEDX) $(GOVULNCHECK) $(BUILDKITD) $(BUILDCTL) ## Build every tool into the cache.

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

$(CYCLONEDX):
	$(call build-tool,tools/cyclonedx-gomod,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod,-ldflags '-s -w')

$(GOVULNCHECK):
	$(call build-tool,tools/govulncheck,golang.org/x/vuln/cmd/govulncheck)

$(BUILDKITD):
	$(call build-tool,tools/buildkit,github.com/moby/buildkit/cmd/buildkitd,-ldflags '-s -w')

$(BUILDCTL):
	$(call build-tool,tools/buildkit,github.com/moby/buildkit/cmd/buildctl,-ldflags '-s -w')

$(HELM):
	$(call build-tool,tools/helm,helm.sh/helm/v4/cmd/helm,-ldflags '-s -w')
