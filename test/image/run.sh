#!/bin/bash
# Builds the image with the Dockerfile, starts compose.yaml, and tests both. Needs root on Debian, and these packages:
#   apt-get install --no-install-recommends buildah podman podman-compose runc netavark aardvark-dns iptables mmdebstrap
#
# IMAGE_STORE is the folder of images and containers (default: one in /var/tmp that later runs use again).
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
  echo 'The image tests need root, because they make file systems and networks for containers: sudo npm run test:image' >&2
  exit 1
fi
IMAGE_STORE=${IMAGE_STORE:-/var/tmp/ams-image-test}
export IMAGE_STORE
export REGISTRY_AUTH_FILE=/dev/null
mkdir -p "$IMAGE_STORE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

storage=(--root "$IMAGE_STORE/storage" --runroot "$IMAGE_STORE/run")
buildah() { command buildah "${storage[@]}" "$@"; }
podman() { command podman "${storage[@]}" --runtime=runc --cgroup-manager=cgroupfs --network-backend=netavark "$@"; }
# Removes the containers and the database of a run that was killed. Otherwise they would remain, and the next run would use them.
remove_containers() { podman rm --all --force >/dev/null && podman volume rm --all --force >/dev/null; }
remove_containers
trap 'remove_containers || true; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot
# Without this, containers need higher limits than the machine may allow.
printf '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n' >"$work/containers.conf"
export CONTAINERS_CONF=$work/containers.conf
# Without systemd, nothing could run the health checks regularly. A test runs them.
export DISABLE_HC_SYSTEMD=true

. test/image/base-images.sh

# The certificates of this machine, for registries that it reaches through a proxy. `docker` is the format with a health check.
buildah build --quiet --layers --pull-never --format docker --volume /etc/ssl/certs:/etc/ssl/certs:ro \
  --tag localhost/ams_service-1 --tag localhost/ams_service-2 .

image=localhost/ams_service-1
whole=$(podman image inspect --format '{{.Size}}' "$image")
base=$(podman image inspect --format '{{.Size}}' "$NODE_IMAGE")
echo "Size of the image: $((whole / 1000000)) MB, of which $(((whole - base) / 1000000)) MB are the service."
podman run --rm --network none --entrypoint sh "$image" -c 'du -sk dist fonts web migrations node_modules/*/*'
echo "Packages of Debian in the image: $(podman run --rm --network none --entrypoint dpkg-query "$image" -W | wc -l)"
podman run --rm --network none --entrypoint dpkg-query "$image" -W -f '${Package} ${Version}\n' >"$IMAGE_STORE/packages.txt"
npm sbom --sbom-format cyclonedx --omit dev --no-workspaces --package-lock-only >"$IMAGE_STORE/sbom.json"
echo "Lists: $IMAGE_STORE/packages.txt (Debian), $IMAGE_STORE/sbom.json (npm)"

# podman-compose and the tests find this podman first.
mkdir "$work/bin"
printf '#!/bin/sh\nexec %s --root "%s" --runroot "%s" --runtime=runc --cgroup-manager=cgroupfs --network-backend=netavark "$@"\n' \
  /usr/bin/podman "$IMAGE_STORE/storage" "$IMAGE_STORE/run" >"$work/bin/podman"
chmod 755 "$work/bin/podman"
PATH="$work/bin:$PATH" npx vitest run --config test/image/vitest.config.ts "$@"
