# Berth for an installation on PostgreSQL, with servers that run elsewhere: on Incus, or simulated. QEMU's run on a
# host of their own (docs/operating.md, which also says what of this was tried).
FROM node:24-bookworm-slim AS manifests
WORKDIR /opt/berth
COPY package.json package-lock.json ./
COPY api/package.json api/
COPY sdk/package.json sdk/
COPY cli/package.json cli/
COPY console/package.json console/

# The Node of this image takes the place of the one from npm, whose script would fetch it.
FROM manifests AS console
RUN npm ci --ignore-scripts
COPY . .
RUN node_modules/.bin/vite build console --logLevel error

FROM manifests AS packages
RUN npm ci --ignore-scripts --omit=dev --workspace=@berth/api

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    BERTH_DATA=/var/lib/berth \
    HOST=0.0.0.0 \
    PORT=8080
WORKDIR /opt/berth
COPY --from=packages /opt/berth/node_modules node_modules
COPY package.json catalog.yaml CHANGELOG.md ./
COPY api api
COPY --from=console /opt/berth/console/dist console/dist
RUN install -d -o node -g node -m 0700 /var/lib/berth
USER node
VOLUME /var/lib/berth
EXPOSE 8080
# Whether the process answers; /readyz says whether it can do its work, and would restart all while the database is away.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "api/main.ts"]
CMD ["serve"]
