#!/bin/sh
# Installs Debian's redis-server for tests and development, without starting the service that comes with the package.
# Does nothing where a server is there; fails with a reason where it may or can not install one.
set -eu

if command -v redis-server >/dev/null || command -v valkey-server >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "redis-server is missing and this is no Debian: there is no apt-get" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "redis-server is missing and only root may install it: sudo apt-get install redis-server" >&2
  exit 1
fi

# Packages ask this file before they start a service; 101 means no. One that is there already stays as it is.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi

echo "redis-server is missing: installing Debian's package"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends redis-server >&2
command -v redis-server
