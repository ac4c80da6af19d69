# The image of the server: built with all dependencies, shipped with the production ones, run as an unprivileged user.
#   docker build -t paihao .
#   docker run --rm -p 127.0.0.1:3000:3000 -e REDIS_URL=redis://redis.example:6379 -e AUTH=none paihao
# An exact version of Node; pin it by digest as well, once you have pulled it: FROM node:…@sha256:… (docker images --digests).
# Debian, not Alpine: the embedded store is tested on glibc.

FROM node:24.11.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build

FROM node:24.11.0-bookworm-slim AS production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

FROM node:24.11.0-bookworm-slim
# HOST: a container is reached through its network, not its loopback. So the server needs API_KEYS (or API_KEYS_FILE), or
# AUTH=none, for ports that are published on 127.0.0.1 only or are behind a proxy that authenticates: ALLOWED_HOSTS lists its name.
# PORT: set, so that a process of role worker answers the health check as well.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=production /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Handler files mounted at /app/handlers (HANDLERS=/app/handlers) resolve "paihao" and its packages from here. TypeScript is
# read by Node itself, which leaves out the types.
COPY package.json LICENSE ./
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node directly, without npm or a shell: it must receive the SIGTERM of `docker stop`, on which it drains its tasks.
# It handles signals and reaps its children, so it can be process 1; --init (set in compose.yaml) does no harm.
CMD ["node", "dist/cli/paihao.js", "start"]
