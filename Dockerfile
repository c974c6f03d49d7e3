# Build: compiles with the development dependencies.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/client/package.json ./packages/client/
COPY web/package.json ./web/
RUN npm ci --ignore-scripts
COPY tsconfig.json rolldown.config.ts ./
COPY openapi.json ./
COPY src ./src
COPY packages ./packages
COPY tools ./tools
COPY web ./web
COPY scripts/ensure-build.mjs ./scripts/
RUN npm run build && npm prune --omit=dev --ignore-scripts

# Runtime: the bundles, the three packages that are not in them, no embedded PostgreSQL, no root.
FROM node:24-bookworm-slim
# Two malloc arenas instead of eight for each core. Otherwise each thread that hashes a password would fill its own arena.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 MALLOC_ARENA_MAX=2
WORKDIR /app
# Two packages are native code, which cannot be bundled. The third has the files of /api-docs.
COPY --from=build /app/node_modules/@myriaddreamin ./node_modules/@myriaddreamin
COPY --from=build /app/node_modules/@node-rs ./node_modules/@node-rs
COPY --from=build /app/node_modules/@fastify/swagger-ui ./node_modules/@fastify/swagger-ui
COPY package.json LICENSE ./
COPY migrations ./migrations
COPY templates ./templates
COPY fonts ./fonts
COPY --from=build /app/web/dist ./web/dist
COPY --from=build /app/dist ./dist
# `npm run create-admin` and similar commands first run this script, which checks that the build exists.
COPY scripts/ensure-build.mjs ./scripts/
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# The semi-space size of Node.js 20. Later versions use twice as much.
CMD ["node", "--max-semi-space-size=16", "dist/server.js"]
