# One image for every process: which one it becomes is said by the command, for example
#   docker run … node services/wallet/src/main.ts
# or at build time: docker build --build-arg PROCESS=services/wallet
# Pinned by digest: a tag may be moved to other content.
ARG NODE_IMAGE=node:24-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/contracts/package.json packages/contracts/
COPY packages/demo/package.json packages/demo/
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
RUN npm ci --omit=dev --workspaces --no-audit --no-fund && npm cache clean --force

FROM ${NODE_IMAGE}
ARG PROCESS=gateway
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PROCESS=${PROCESS} \
    MEDIA_DIRECTORY=/data/media \
    NODE_COMPILE_CACHE=/tmp/compile-cache
WORKDIR /app
# Named volumes take over the owner of the directory they are mounted on.
RUN mkdir -p /data/media /data/journal /data/keys/authority /data/keys/public \
      /data/keys/private/gateway /data/keys/private/identity /data/keys/private/wallet /data/keys/private/gyms \
      /data/keys/private/content /data/keys/private/media /data/keys/private/store-billing \
    && chown -R node:node /data
COPY --from=packages /app ./
COPY package.json ./
COPY packages packages
COPY proto proto
COPY services services
COPY gateway gateway
COPY sandbox sandbox
COPY deploy/entrypoint.sh /usr/local/bin/entrypoint
USER node
ENTRYPOINT ["entrypoint"]
CMD ["sh", "-c", "exec node \"$PROCESS/src/main.ts\""]
