#!/bin/sh
# Runs the tests in separate namespaces for network, processes and mounts. So they may use the ports and folders that the files in
# deploy/ name. Even if the tests are killed, no process, network or mount of them is left on the machine.
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
  echo 'The failover tests need root, because they start machines with networks of their own: sudo npm run test:failover' >&2
  exit 1
fi
FAILOVER_NAMESPACE=$(readlink /proc/self/ns/net)
export FAILOVER_NAMESPACE
exec unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
  sh -c 'hostname app1 && ip link set lo up && npx vitest run --config test/failover/vitest.config.ts "$@"' sh "$@"
