# This builds two images. `fitness-platform` contains every process, and its command selects one:
#   docker build -t fitness-platform . && docker run … fitness-platform node services/wallet/src/main.ts
# `fitness-platform-sandbox` contains the emulated providers, which production does not need:
#   docker build --target sandbox -t fitness-platform-sandbox .
# The image is pinned by its digest, because a tag may be moved to other content.
ARG NODE_IMAGE=node:24-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/contracts/package.json packages/contracts/
COPY packages/demo/package.json packages/demo/
COPY packages/ops/package.json packages/ops/
COPY packages/shared/package.json packages/shared/
COPY proto/package.json proto/
COPY services/identity/package.json services/identity/
COPY services/wallet/package.json services/wallet/
COPY services/gyms/package.json services/gyms/
COPY services/content/package.json services/content/
COPY services/media/package.json services/media/
COPY services/store-billing/package.json services/store-billing/
COPY gateway/package.json gateway/
COPY sandbox/package.json sandbox/
COPY deploy/install-packages.sh /usr/local/bin/install-packages

FROM manifests AS packages
RUN install-packages --workspace=gateway --workspace=services && rm -r package-lock.json packages/client sandbox

FROM manifests AS sandbox-packages
RUN install-packages --workspace=sandbox && rm -r package-lock.json gateway packages/contracts packages/demo packages/ops services

FROM ${NODE_IMAGE} AS runtime
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    MEDIA_DIRECTORY=/data/media \
    NODE_COMPILE_CACHE=/tmp/compile-cache
WORKDIR /app
# Package managers are needed only during the build.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-*
COPY deploy/entrypoint.sh /usr/local/bin/entrypoint
ENTRYPOINT ["entrypoint"]
COPY LICENSE NOTICE ./

FROM runtime AS sandbox
# A named volume inherits the owner of the directory it is mounted on.
RUN mkdir -p /data/sandbox && chown node:node /data/sandbox
COPY --from=sandbox-packages /app ./
COPY proto proto
COPY packages/client packages/client
COPY packages/shared packages/shared
COPY sandbox sandbox
USER node
CMD ["node", "sandbox/src/main.ts"]

FROM runtime AS product
# A named volume inherits the owner of the directory it is mounted on.
RUN mkdir -p /data/media /data/journal /data/keys/authority /data/keys/public \
      /data/keys/private/gateway /data/keys/private/identity /data/keys/private/wallet /data/keys/private/gyms \
      /data/keys/private/content /data/keys/private/media /data/keys/private/store-billing \
    && chown -R node:node /data
COPY --from=packages /app ./
COPY proto proto
COPY packages/contracts packages/contracts
COPY packages/demo packages/demo
COPY packages/ops packages/ops
COPY packages/shared packages/shared
COPY services services
COPY gateway gateway
COPY CHANGELOG.md ./
COPY docs/guides/apps docs/guides/apps
COPY docs/guides/operators/alerts.md docs/guides/operators/
COPY docs/api docs/api
USER node
CMD ["node", "gateway/src/main.ts"]
