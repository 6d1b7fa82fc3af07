# make image builds it; by hand:
#   docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) -t assay:v0.1.0 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG GOPROXY
ARG GOFLAGS
ENV GOTOOLCHAIN=local CGO_ENABLED=0
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# All that changes with the release comes last, so that what stands before it is
# built once. The flags are those of hack/release: the same source gives the same
# bytes, wherever it is built.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT
ARG DATE
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "$(hack/release/ldflags.sh "$VERSION" "$COMMIT" "$DATE")" -o /out/assay .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go run ./hack/licenses -texts >/out/THIRD_PARTY_LICENSES

# No shell, no package, no user but the one it runs as. Time zones are in the binary.
FROM scratch
ARG VERSION=dev
ARG COMMIT
ARG DATE
LABEL org.opencontainers.image.title=assay \
      org.opencontainers.image.description="Runs RAG regression tests in Kubernetes" \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.vendor="The Assay authors" \
      org.opencontainers.image.source=https://github.com/assay-dev/assay \
      org.opencontainers.image.url=https://github.com/assay-dev/assay \
      org.opencontainers.image.documentation=https://github.com/assay-dev/assay/tree/main/docs \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$COMMIT \
      org.opencontainers.image.created=$DATE
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE /out/THIRD_PARTY_LICENSES /licenses/
COPY --from=build /out/assay /assay
USER 65532:65532
ENTRYPOINT ["/assay"]
