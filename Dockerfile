# SPDX-License-Identifier: Apache-2.0
# The build environment as an image: the groups of packages.txt on Debian forky. `./dev` builds and uses it where there is
# Docker or Podman but no root; by hand: docker build -t wgkernels-dev --build-arg PACKAGE_GROUPS="base check" .
FROM debian:forky-slim
ARG PACKAGE_GROUPS="base"
ENV DEBIAN_FRONTEND=noninteractive
COPY packages.txt tools/dev/list-packages /tmp/wgk/
RUN apt-get update \
    && apt-get install -y --no-install-recommends $(/tmp/wgk/list-packages /tmp/wgk/packages.txt $PACKAGE_GROUPS) \
    && rm -rf /var/lib/apt/lists/* /tmp/wgk
