#!/bin/sh
# Process 1 of the node, in mount, process and network namespaces of its own: what its programs leave in these folders goes with it.
set -e
mount --make-rshared /
for folder in /run /var/log /var/lib/cni; do
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
exec /bin/sh "$1" sleep infinity
