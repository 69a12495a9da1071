# The image of a release, for one architecture: .github/workflows/release.yml builds it on
# a runner of each architecture, from the directory with the files of the release:
#
#   docker build --build-arg VERSION=1.2.3 --build-arg TARGETARCH=amd64 -f Dockerfile dist
#
# Besides millhand it has what every run requires: bash, git and certificates. Add the
# toolchains of your projects in an image of your own (FROM ghcr.io/millhand/millhand).
# The container confines the commands of agents, which need no other sandbox there:
#
#   docker run --rm -e OPENAI_API_KEY -v "$PWD:/work" --user "$(id -u):$(id -g)" \
#     ghcr.io/millhand/millhand run millhand.yaml --sandbox external
FROM debian:13-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends bash ca-certificates git \
	&& rm -rf /var/lib/apt/lists/*
ARG VERSION
ARG TARGETARCH
# ADD unpacks the archive in a directory of its own: it also has the licences.
ADD millhand_${VERSION}_linux_${TARGETARCH}.tar.gz /opt/millhand/
RUN ln -s /opt/millhand/millhand /usr/local/bin/millhand && millhand version
ENV HOME=/tmp
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["millhand"]
