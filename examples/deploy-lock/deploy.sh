#!/bin/sh
# Deploys: a stand-in that writes the version to a file. It refuses to replace what a later turn has deployed.
set -eu
target=${DEPLOY_TO:-deployed.txt}
if [ -f "$target" ]; then
  read -r latest version <"$target"
  if [ "$PAIHAO_FENCE" -lt "$latest" ]; then
    echo "not deployed: $version has been deployed meanwhile" >&2
    exit 1
  fi
fi
echo "deploying ${GITHUB_SHA:-a version}"
sleep 0.5
echo "$PAIHAO_FENCE ${GITHUB_SHA:-a version}" >"$target"
echo "deployed ${GITHUB_SHA:-a version}"
