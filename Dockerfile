# syntax=docker/dockerfile:1
# docker build --build-arg VERSION=v0.1.0 -t assay:v0.1.0 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags "-s -w -X github.com/assay-dev/assay/internal/version.Version=$VERSION" -o /assay .

# Certificate authorities and nothing else; time zones are in the binary.
FROM gcr.io/distroless/static:nonroot
LABEL org.opencontainers.image.title=assay \
      org.opencontainers.image.description="Runs RAG regression tests in Kubernetes" \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /assay /assay
USER 65532:65532
ENTRYPOINT ["/assay"]
