#!/bin/sh
# Runs the tests in a network, a list of processes and a view of the file system of their own. So they may use the ports and
# folders that the files in deploy/ name, and nothing of them is left on the machine, even if they are killed.
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
  echo 'The failover tests need root, because they start machines with networks of their own: sudo npm run test:failover' >&2
  exit 1
fi
FAILOVER_NAMESPACE=$(readlink /proc/self/ns/net)
export FAILOVER_NAMESPACE
exec unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
  sh -c 'hostname app1 && ip link set lo up && npx vitest run --config test/failover/vitest.config.ts "$@"' sh "$@"
