#!/bin/sh
# The last step of a pipeline. PAIHAO_URL says where the server is; PAIHAO_KEY is an API key with the scope `submit`, if it wants one.
set -eu
# Half an hour in line at most. Where the turn is lost, the next deployment begins: this one is stopped.
exec npx paihao turn deploy \
  --label "${GITHUB_REPOSITORY:-shop} ${GITHUB_RUN_NUMBER:-by hand}" \
  --wait-at-most 30m --on-loss stop \
  -- "$(dirname "$0")/deploy.sh"
